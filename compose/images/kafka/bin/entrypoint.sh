#!/bin/bash
# entrypoint.sh ROLE [FILE], or any other command.
#
#   broker, controller   KAFKA_*      -> /etc/kafka/server.properties
#   zookeeper            ZOOKEEPER_*  -> /etc/kafka/zookeeper.properties
#   connect              CONNECT_*    -> /etc/kafka-connect/kafka-connect.properties
#   mirror-maker FILE    dedicated MirrorMaker 2 with that properties file
#
# Names are read as in the images that people know: without the prefix, in lower case, _ is a dot,
# __ is _, ___ is -; ZOOKEEPER_CLIENT_PORT is clientPort. Values are copied as they are (a line break
# becomes \n), so ${file:/run/secrets/x:password} reaches Kafka unread. A properties file that is mounted
# read-only is used as it is. Process 1 is java.
#
# With KAFKA_PROCESS_ROLES it is KRaft and the storage is formatted once, with CLUSTER_ID (default: the id
# that Kafka's own image uses); without, KAFKA_ZOOKEEPER_CONNECT is needed.
# For the JVM, not for Kafka: KAFKA_HEAP_OPTS, KAFKA_JVM_PERFORMANCE_OPTS, KAFKA_OPTS, KAFKA_LOG4J_OPTS,
# KAFKA_LOG4J_ROOT_LOGLEVEL, LOG_DIR (a log in a file too), KAFKA_JMX_PORT, KAFKA_JMX_HOSTNAME,
# LAB_JMX_EXPORTER_PORT, LAB_JMX_EXPORTER_CONFIG.
#
# Defaults, chosen for small clusters that start quickly; a variable overrides each:
#   broker      log.dirs=/var/lib/kafka/data, internal topics with one replica, no initial rebalance delay,
#               listeners on 0.0.0.0 with the ports of advertised.listeners
#   ZooKeeper   zookeeper.session.timeout.ms=6000; a broker that was killed can start again after that
#   KRaft       node.id=1, controller.listener.names=CONTROLLER
#   zookeeper   dataDir=/var/lib/kafka/zookeeper, clientPort=2181, no admin server
#   connect     port 8083 (or CONNECT_REST_PORT), group "connect" and its three topics with one replica,
#               bytes as they are (ByteArrayConverter), plugin.path=/usr/share/java,
#               plugin.discovery=service_load from Kafka 3.6 on (a second quicker)
set -euo pipefail
. /opt/kafka/bin/lab-java.sh

for_the_jvm='^(KAFKA|CONNECT|ZOOKEEPER)_((HEAP|JVM_PERFORMANCE|LOG4J|GC_LOG|)_?OPTS|LOG4J_.*|JMX_.*|VERSIONS?|HOME)$'
declare -A settings

fail() {
  echo "entrypoint: $1" >&2
  exit 2
}

dotted() {
  local name=${1,,}
  name=${name//___/-}
  name=${name//__/$'\n'}
  name=${name//_/.}
  key=${name//$'\n'/_}
}

camel_case() {
  local word words
  case $1 in
    4LW_COMMANDS_WHITELIST | ADMIN_SERVER_PORT) dotted "${1/SERVER_PORT/serverPort}" ;;
    *)
      IFS=_ read -r -a words <<<"${1,,}"
      key=${words[0]}
      for word in "${words[@]:1}"; do key+=${word^}; done ;;
  esac
}

from_environment() { # prefix, how the rest of a name becomes a key
  local name key
  for name in $(compgen -A export "$1"); do
    [[ ! $name =~ $for_the_jvm ]] || continue
    $2 "${name#"$1"}"
    settings[$key]=${!name//$'\n'/\\n}
  done
}

default() { [[ -v "settings[$1]" ]] || settings[$1]=$2; }

write() { # file
  local key
  if [[ -e $1 && ! -w $1 ]]; then
    echo "entrypoint: $1 is read-only and used as it is" >&2
    return
  fi
  for key in "${!settings[@]}"; do echo "$key=${settings[$key]}"; done | sort >"$1"
}

format_storage() { # file
  local dir options=()
  for dir in ${settings[log.dirs]//,/ } ${settings[metadata.log.dir]:-}; do
    [[ ! -e $dir/meta.properties ]] || return 0
  done
  if [[ ${settings[process.roles]} == *controller* && -z ${settings[controller.quorum.voters]:-} ]]; then
    options=(--standalone)
  fi
  kafka-storage format --config "$1" --cluster-id "${CLUSTER_ID:-5L6g3nShT-eMCtK--X86sw}" "${options[@]}" >&2
}

ran_before() {
  local dir
  for dir in ${settings[log.dirs]//,/ }; do [[ ! -e $dir/meta.properties ]] || return 0; done
  return 1
}

# yes, no, or nothing as long as ZooKeeper does not answer
registered() { # zookeeper host:port, broker id
  local told
  told=$( (exec 3<>"/dev/tcp/${1%:*}/${1#*:}" && echo dump >&3 && timeout 5 cat <&3) 2>/dev/null) || return 0
  case $told in
    *"/brokers/ids/$2"$'\n'* | *"/brokers/ids/$2") echo yes ;;
    *ephemeral* | *whitelist*) echo no ;; # a ZooKeeper that may not tell is not waited for
  esac
}

# A broker that was killed stays registered until its session ends, and its successor would end at once
# on finding the name taken. After a power cut ZooKeeper comes back with the broker, and with the sessions;
# only one that starts for the first time has nothing to wait for.
wait_until_forgotten() {
  local zookeeper=${settings[zookeeper.connect]%%[,/]*} deadline=$((SECONDS + 60))
  trap 'exit 143' TERM INT # which process 1 would else not hear
  while ((SECONDS < deadline)); do
    case $(registered "$zookeeper" "${settings[broker.id]:-none}") in
      yes) ;;
      no) break ;;
      *) ran_before || break ;;
    esac
    sleep 0.3
  done
  trap - TERM INT
}

broker() {
  local file=/etc/kafka/server.properties kind=broker
  from_environment KAFKA_ dotted
  if [[ -v "settings[process.roles]" ]]; then
    default node.id 1
    default controller.listener.names CONTROLLER
  elif at_least 4.0; then
    fail "Kafka $(<$home/version) has no ZooKeeper: set KAFKA_PROCESS_ROLES"
  elif [[ ! -v "settings[zookeeper.connect]" ]]; then
    fail "set KAFKA_ZOOKEEPER_CONNECT, or KAFKA_PROCESS_ROLES for KRaft"
  else
    kind=zk-broker
    default zookeeper.session.timeout.ms 6000
  fi
  if [[ -v "settings[advertised.listeners]" ]]; then
    default listeners "$(sed -E 's,://[^:]*:,://0.0.0.0:,g' <<<"${settings[advertised.listeners]}")"
  fi
  default log.dirs /var/lib/kafka/data
  [[ $kind != zk-broker ]] || wait_until_forgotten
  default offsets.topic.replication.factor 1
  default transaction.state.log.replication.factor 1
  default transaction.state.log.min.isr 1
  default group.initial.rebalance.delay.ms 0
  if at_least 4.0; then
    default share.coordinator.state.topic.replication.factor 1
    default share.coordinator.state.topic.min.isr 1
  fi
  write $file
  [[ ! -v "settings[process.roles]" ]] || format_storage $file
  run_server $kind kafka.Kafka $file
}

# ZOOKEEPER_SERVERS=host:2888:3888;host:2888:3888 and ZOOKEEPER_SERVER_ID, as in the images that people know.
join_ensemble() {
  local servers n
  [[ -v "settings[servers]" ]] || return 0
  IFS=';' read -r -a servers <<<"${settings[servers]}"
  for n in "${!servers[@]}"; do settings[server.$((n + 1))]=${servers[n]}; done
  default initLimit 10
  default syncLimit 5
  mkdir -p "${settings[dataDir]}"
  echo "${settings[serverId]}" >"${settings[dataDir]}/myid"
  unset "settings[servers]" "settings[serverId]"
}

zookeeper() {
  local file=/etc/kafka/zookeeper.properties
  ! at_least 4.0 || fail "Kafka $(<$home/version) has no ZooKeeper"
  from_environment ZOOKEEPER_ camel_case
  default dataDir /var/lib/kafka/zookeeper
  default clientPort 2181
  default tickTime 2000
  default maxClientCnxns 0
  default admin.enableServer false
  default 4lw.commands.whitelist ruok,srvr,stat,mntr,dump
  join_ensemble
  write $file
  run_server zookeeper org.apache.zookeeper.server.quorum.QuorumPeerMain $file
}

connect() {
  local file=/etc/kafka-connect/kafka-connect.properties
  local bytes=org.apache.kafka.connect.converters.ByteArrayConverter store
  from_environment CONNECT_ dotted
  default listeners "http://0.0.0.0:${settings[rest.port]:-8083}"
  default rest.advertised.host.name "$HOSTNAME"
  default group.id connect
  default config.storage.topic connect-configs
  default offset.storage.topic connect-offsets
  default status.storage.topic connect-status
  for store in config offset status; do default $store.storage.replication.factor 1; done
  default key.converter $bytes
  default value.converter $bytes
  default plugin.path /usr/share/java
  ! at_least 3.6 || default plugin.discovery service_load
  write $file
  run_server connect org.apache.kafka.connect.cli.ConnectDistributed $file
}

role=${1:-}
case $role in
  broker) broker ;;
  controller)
    export KAFKA_PROCESS_ROLES=${KAFKA_PROCESS_ROLES:-controller}
    broker ;;
  zookeeper | connect) $role ;;
  mirror-maker)
    [[ -r ${2:-} ]] || fail "mirror-maker needs a properties file that can be read"
    run_server mirror-maker org.apache.kafka.connect.mirror.MirrorMaker "${@:2}" ;;
  '') fail "which role? broker, controller, zookeeper, connect or mirror-maker" ;;
  *) exec "$@" ;;
esac
