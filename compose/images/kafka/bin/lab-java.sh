# Sourced by the entrypoint and by every tool: how this image starts a JVM.
home=/opt/kafka

at_least() { # is Kafka of this version or later?
  [[ $(printf '%s\n' "$1" "$(<$home/version)" | sort -V | head -1) == "$1" ]]
}

# The order in which a directory lists its files differs between file systems, and a CDS archive is
# refused when the jars it was made with are not the first of the class path, in the same order.
# So that part is a list made in the build; a jar added to libs later (or CLASSPATH) is appended.
class_path() {
  local path jar
  path=$(<$home/classpath)
  for jar in $home/libs/*.jar; do
    [[ :$path: == *":$jar:"* ]] || path+=:$jar
  done
  echo "$path${CLASSPATH:+:$CLASSPATH}"
}

# LOG_DIR, as in Kafka's own scripts, is where servers also keep their log in a file; a folder that cannot be
# made or written to is complained of, and they start all the same.
logging() { # file name without its ending
  local folder=
  [[ $1 != server ]] || folder=${LOG_DIR:-}
  [[ -z $folder ]] || mkdir -p "$folder" || true
  if [[ -n ${KAFKA_LOG4J_OPTS:-} ]]; then
    echo "$KAFKA_LOG4J_OPTS"
  elif at_least 4.0; then
    local file=$home/config/$1.log4j2.properties
    [[ -z $folder ]] || file+=,$home/config/file.log4j2.properties
    echo "-Dlog4j2.configurationFile=$file"
  else
    echo "-Dlog4j.configuration=file:$home/config/$1.log4j.properties"
    [[ -z $folder ]] || echo "-Dlab.log.also=,file"
  fi
  [[ -z $folder ]] || echo "-Dkafka.logs.dir=$folder"
}

archive() { # name of a CDS archive, which is not there yet while the build makes it
  local file=$home/cds/$1.jsa
  [[ ! -e $file ]] || echo "-XX:SharedArchiveFile=$file"
}

jmx() {
  if [[ -n ${LAB_JMX_EXPORTER_PORT:-} ]]; then
    local jar=$home/jmx/jmx_prometheus_javaagent.jar
    echo "-javaagent:$jar=$LAB_JMX_EXPORTER_PORT:${LAB_JMX_EXPORTER_CONFIG:-$home/jmx/config.yml}"
  fi
  if [[ -n ${KAFKA_JMX_PORT:-} ]]; then
    local remote=-Dcom.sun.management.jmxremote
    echo "$remote $remote.port=$KAFKA_JMX_PORT $remote.rmi.port=$KAFKA_JMX_PORT" \
      "$remote.authenticate=false $remote.ssl=false" \
      "-Djava.rmi.server.hostname=${KAFKA_JMX_HOSTNAME:-$HOSTNAME}"
  fi
}

# exec: java must be process 1 to get the SIGTERM of "docker stop".
# The class path goes by environment, so that "ps" shows a line that can be read.
run_server() { # kind, main class, its arguments
  local kind=$1 heap small=
  case $kind in
    zookeeper) heap="-Xms64m -Xmx128m" small="-XX:+UseSerialGC -XX:TieredStopAtLevel=1" ;;
    broker | zk-broker) heap="-Xms256m -Xmx512m" ;;
    *) heap="-Xms256m -Xmx1g" ;;
  esac
  CLASSPATH=$(class_path)
  export CLASSPATH
  # Word splitting is what these variables are for.
  # shellcheck disable=SC2046,SC2086
  exec java ${KAFKA_HEAP_OPTS:-$heap} ${KAFKA_JVM_PERFORMANCE_OPTS:-$small} \
    -XX:+ExitOnOutOfMemoryError $(archive "$kind") $(jmx) $(logging server) \
    ${KAFKA_LOG4J_ROOT_LOGLEVEL:+-Dlab.log.level=$KAFKA_LOG4J_ROOT_LOGLEVEL} ${KAFKA_OPTS:-} "${@:2}"
}

# "docker exec" hands a tool the server's variables: its heap, its agents and their ports are not for the tool.
forget_options_of_server() {
  local entry name
  while IFS= read -r -d '' entry; do
    name=${entry%%=*}
    case $name in
      KAFKA_HEAP_OPTS | KAFKA_OPTS | KAFKA_JVM_PERFORMANCE_OPTS | KAFKA_LOG4J_OPTS)
        [[ ${!name:-} != "${entry#*=}" ]] || unset "$name" ;;
    esac
  done 2>/dev/null </proc/1/environ || true
}

run_tool() { # kind, main class, its arguments
  local quick="-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
  [[ $1 != load ]] || quick=
  (( $$ == 1 )) || forget_options_of_server
  CLASSPATH=$(class_path)
  export CLASSPATH
  # shellcheck disable=SC2046,SC2086
  exec java ${KAFKA_HEAP_OPTS:--Xmx512m} ${KAFKA_JVM_PERFORMANCE_OPTS:-$quick} \
    -Xlog:disable -Xlog:all=error:stderr $(archive tools) $(logging tools) ${KAFKA_OPTS:-} "${@:2}"
}
