#!/bin/bash
# entrypoint.sh ROLE, or any other command.
#
#   connect   Spark Connect server on port 15002; SPARK_MASTER (local[4]) says where its jobs run
#   master    master of a standalone cluster, port 7077
#   worker    worker of one: SPARK_MASTER=spark://HOST:7077, SPARK_WORKER_CORES (1), SPARK_WORKER_MEMORY (1g)
#
# The server's heap is half of the container's memory; SPARK_OPTS are more options of its JVM.
# Settings of Spark: the file conf/spark-defaults.conf, then every SPARK_CONF_<any name>="key=value".
# Process 1 is java. Of its collectors the parallel one takes least from the jobs; and the methods that Spark
# generates for a whole stage are longer than what is compiled by default, which would leave them interpreted.
set -euo pipefail
home=/opt/spark

settings() { # fills "options" with -Dkey=value
  local key value name
  while read -r key value; do
    [[ -z $key || $key == \#* ]] || options+=("-D$key=$value")
  done <$home/conf/spark-defaults.conf
  for name in $(compgen -A export SPARK_CONF_); do options+=("-D${!name}"); done
}

# What Spark's own launcher opens for Java 17 and later.
opened=(java.base/java.lang java.base/java.lang.invoke java.base/java.lang.reflect java.base/java.io java.base/java.net
  java.base/java.nio java.base/java.util java.base/java.util.concurrent java.base/java.util.concurrent.atomic
  java.base/jdk.internal.ref java.base/sun.nio.ch java.base/sun.nio.cs java.base/sun.security.action
  java.base/sun.util.calendar java.security.jgss/sun.security.krb5)
opened=("${opened[@]/#/--add-opens=}")

role=${1:-}
options=("${opened[@]/%/=ALL-UNNAMED}" -XX:+ExitOnOutOfMemoryError -XX:+UseParallelGC -XX:-DontCompileHugeMethods
  -XX:ReservedCodeCacheSize=192m -XX:MaxDirectMemorySize=256m -Djdk.reflect.useDirectMethodHandle=false
  -Duser.timezone=UTC "-Dlog4j2.configurationFile=$home/conf/log4j2.properties")
CLASSPATH=$(<$home/classpath)${CLASSPATH:+:$CLASSPATH}
export CLASSPATH
case $role in
  connect)
    read -r -a more <<<"${SPARK_OPTS:-}"
    master=${SPARK_MASTER:-local[4]}  # on 2 cores too: who reads a topic waits for its broker half of the time
    [[ ! -e $home/cds/connect.jsa ]] || options+=("-XX:SharedArchiveFile=$home/cds/connect.jsa")
    options+=(-Dspark.app.name=mirror-lab "-Dspark.master=$master")
    [[ $master != spark://* ]] || options+=("-Dspark.driver.host=$HOSTNAME" -Dspark.driver.bindAddress=0.0.0.0)
    settings
    exec java -XX:MaxRAMPercentage=50 "${options[@]}" "${more[@]}" \
      org.apache.spark.sql.connect.service.SparkConnectServer ;;
  master)
    exec java -Xmx512m "${options[@]}" org.apache.spark.deploy.master.Master --host "$HOSTNAME" --port 7077 ;;
  worker)
    exec java -Xmx512m "${options[@]}" org.apache.spark.deploy.worker.Worker --host "$HOSTNAME" --work-dir /var/lib/spark/work \
      --cores "${SPARK_WORKER_CORES:-1}" --memory "${SPARK_WORKER_MEMORY:-1g}" "${SPARK_MASTER:?a worker needs it}" ;;
  '')
    echo "entrypoint: which role? connect, master or worker" >&2
    exit 2 ;;
  *) exec "$@" ;;
esac
