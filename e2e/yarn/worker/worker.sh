#!/bin/bash
# A Zeta worker as an instance of a YARN service: worker.sh INSTANCE COMPONENT_ID MASTER_HOST:PORT FIRST_PORT SLOTS CLASSPATH LOG4J
# exec: SIGTERM reaches the JVM.
set -eu
instance=$1 id=$2 master=$3 first=$4 slots=$5 classpath=$6 log4j=$7
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p home/connectors home/plugins
exec "$JAVA_HOME/bin/java" -Xms64m -Xmx256m -XX:+UseSerialGC -XX:MaxMetaspaceSize=256m -XX:TieredStopAtLevel=1 \
  --add-modules java.se --add-exports java.base/jdk.internal.ref=ALL-UNNAMED \
  --add-opens java.base/java.lang=ALL-UNNAMED --add-opens java.base/java.nio=ALL-UNNAMED \
  --add-opens java.base/sun.nio.ch=ALL-UNNAMED --add-opens java.management/sun.management=ALL-UNNAMED \
  --add-opens jdk.management/com.sun.management.internal=ALL-UNNAMED \
  -Dzeta.worker="$instance" -Dzeta.port=$((first + id)) -Dzeta.master="$master" -Dzeta.slots="$slots" \
  -DSEATUNNEL_HOME="$PWD/home" -Dseatunnel.config="$here/seatunnel.yaml" -Dhazelcast.config="$here/hazelcast-worker.yaml" \
  -Dhazelcast.logging.type=log4j2 -Dlog4j2.configurationFile="$log4j" \
  -cp "$classpath" ZetaNode worker
