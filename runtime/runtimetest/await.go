package runtimetest

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kfake"
)

// awaitGroup waits for the fake broker to see the last offset committed.
func (b *Broker) awaitGroup(ctx context.Context, group string, topics []string) error {
	fake := b.cluster.Fake()
	ends := map[string]map[int32]int64{}
	for _, topic := range topics {
		ends[topic] = map[int32]int64{}
		for _, p := range fake.PartitionInfos(topic) {
			if p.HighWatermark > p.LogStartOffset {
				ends[topic][p.Partition] = p.HighWatermark
			}
		}
	}
	info, err := fake.WaitGroupInfo(ctx, group, func(info *kfake.GroupInfo) bool { return behind(info, ends) == "" })
	if err == nil {
		return nil
	}
	return fmt.Errorf("wait for group %s: %w: %s", group, context.Cause(ctx), behind(info, ends))
}

// behind names the first partition that is not committed to its end, or nothing.
func behind(info *kfake.GroupInfo, ends map[string]map[int32]int64) string {
	for topic, partitions := range ends {
		for partition, end := range partitions {
			var at int64
			if info != nil {
				at = info.Commits[topic][partition].Offset
			}
			if at < end {
				return fmt.Sprintf("%s/%d is committed to %d of %d", topic, partition, at, end)
			}
		}
	}
	return ""
}
