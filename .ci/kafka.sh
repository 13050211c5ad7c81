#!/usr/bin/env bash
# One Apache Kafka broker in KRaft mode on loopback, from its Maven artifacts, for the integration tests.
#
#   .ci/kafka.sh start   fetch Kafka if need be, start the broker, wait until it serves, print its environment:
#                            eval "$(.ci/kafka.sh start)" && go test ./runtime/...
#   .ci/kafka.sh stop    end it, as an operator would; what it holds stays for the next start
#   .ci/kafka.sh kill    end it as a crash does
#   .ci/kafka.sh wipe    stop, and forget what it held
#
# KAFKA_VERSION, KAFKA_PORT, KAFKA_HOME (fetched jars) and KAFKA_STATE (data, log, process id) change the defaults.
# It needs Java 17 or newer, and Maven the first time.
set -euo pipefail

version=${KAFKA_VERSION:-4.3.1}
port=${KAFKA_PORT:-29092}
home=${KAFKA_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/idemlint/kafka-$version}
state=${KAFKA_STATE:-${TMPDIR:-/tmp}/idemlint-kafka-$port}
self=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/$(basename "${BASH_SOURCE[0]}")

say() { echo "kafka.sh: $*" >&2; }
die() { say "$@"; exit 1; }

# fetch puts Kafka and what it depends on into $home/libs, complete or not at all.
fetch() {
	[ -d "$home/libs" ] && return
	command -v mvn >/dev/null || die "Maven is not installed"
	say "fetching Kafka $version"
	local work
	mkdir -p "$(dirname "$home")"
	work=$(mktemp -d "$(dirname "$home")/fetch.XXXXXX")
	cat >"$work/pom.xml" <<-POM
		<project xmlns="http://maven.apache.org/POM/4.0.0">
		  <modelVersion>4.0.0</modelVersion>
		  <groupId>local</groupId><artifactId>kafka</artifactId><version>1</version>
		  <dependencies>
		    <dependency>
		      <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$version</version>
		    </dependency>
		    <dependency>
		      <groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version>
		    </dependency>
		  </dependencies>
		</project>
	POM
	(cd "$work" && mvn --batch-mode --quiet dependency:copy-dependencies \
		-DincludeScope=runtime -DoutputDirectory="$work/home/libs") >&2 || die "Maven could not fetch Kafka $version"
	mv "$work/home" "$home" 2>/dev/null || [ -d "$home/libs" ] # another process was first
	rm -rf "$work"
}

configure() {
	mkdir -p "$state"
	cat >"$state/server.properties" <<-CONF
		process.roles=broker,controller
		node.id=1
		controller.quorum.voters=1@127.0.0.1:$((port + 1))
		controller.listener.names=CONTROLLER
		listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$((port + 1))
		advertised.listeners=PLAINTEXT://127.0.0.1:$port
		listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
		log.dirs=$state/data
		auto.create.topics.enable=false
		num.partitions=1
		offsets.topic.num.partitions=4
		offsets.topic.replication.factor=1
		transaction.state.log.num.partitions=4
		transaction.state.log.replication.factor=1
		transaction.state.log.min.isr=1
		share.coordinator.state.topic.num.partitions=1
		share.coordinator.state.topic.replication.factor=1
		share.coordinator.state.topic.min.isr=1
		group.initial.rebalance.delay.ms=0
		group.min.session.timeout.ms=100
		group.consumer.min.session.timeout.ms=1000
		group.consumer.min.heartbeat.interval.ms=100
		group.consumer.session.timeout.ms=10000
		group.consumer.heartbeat.interval.ms=500
		log.segment.bytes=16777216
	CONF
}

# java_run replaces the shell it is called in, so that a background job's process id is Java's.
java_run() { exec java -Xms256m -Xmx768m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$home/libs/*" "$@"; }

running() { [ -s "$state/pid" ] && kill -0 "$(cat "$state/pid")" 2>/dev/null; }

start() {
	fetch
	if ! running; then
		configure
		if [ ! -f "$state/data/meta.properties" ]; then
			local id
			id=$(java_run -Dorg.slf4j.simpleLogger.defaultLogLevel=error kafka.tools.StorageTool random-uuid | tail -n 1)
			(java_run -Dorg.slf4j.simpleLogger.defaultLogLevel=warn kafka.tools.StorageTool format \
				--cluster-id "$id" --config "$state/server.properties") >&2
		fi
		: >"$state/log"
		# The broker must not hold the caller's output open, and outlives this script.
		java_run -Dorg.slf4j.simpleLogger.showDateTime=true kafka.Kafka "$state/server.properties" \
			</dev/null >>"$state/log" 2>&1 &
		echo $! >"$state/pid"
		disown
	fi
	await
	echo "export KAFKA_BROKERS=127.0.0.1:$port KAFKA_CONTROL=$self"
}

# await returns when the broker has said that it serves.
await() {
	local deadline=$((SECONDS + 120))
	until grep -q 'Kafka Server started' "$state/log" && (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
		running || { tail -n 30 "$state/log" >&2; die "the broker ended"; }
		[ $SECONDS -lt $deadline ] || { tail -n 30 "$state/log" >&2; die "the broker does not answer"; }
		sleep 0.2
	done
}

# end sends the broker a signal and returns when it is gone.
end() {
	running || return 0
	local pid deadline=$((SECONDS + 60))
	pid=$(cat "$state/pid")
	kill "-$1" "$pid"
	while kill -0 "$pid" 2>/dev/null; do
		[ $SECONDS -lt $deadline ] || die "the broker does not end"
		sleep 0.1
	done
	rm -f "$state/pid"
}

case ${1:-} in
start) start ;;
stop) end TERM ;;
kill) end KILL ;;
wipe)
	end KILL
	rm -rf "$state"
	;;
*) die "usage: kafka.sh start|stop|kill|wipe" ;;
esac
