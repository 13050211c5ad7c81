package know

// A Setting is what a client is told about what it reads.
type Setting uint8

// The settings.
const (
	TopicSetting Setting = iota + 1
	GroupSetting
)

// A SettingRow is a call that tells a client a setting: as its argument Arg, counted as in [Row]; with Rest the
// arguments behind it, too.
type SettingRow struct {
	Pkg  string // normalised import path, see [Normal]
	Recv string // type name, "" for a function of the package
	Name string
	Sets Setting
	Arg  int
	Rest bool
}

// Settings are the calls by which topics and groups are set.
var Settings = []SettingRow{
	{Pkg: franz, Name: "ConsumerGroup", Sets: GroupSetting},
	{Pkg: franz, Name: "ConsumeTopics", Sets: TopicSetting, Rest: true},
	{Pkg: franz, Recv: "Client", Name: "AddConsumeTopics", Sets: TopicSetting, Rest: true},
	{Pkg: sarama, Name: "NewConsumerGroup", Sets: GroupSetting, Arg: 1},
	{Pkg: sarama, Name: "NewConsumerGroupFromClient", Sets: GroupSetting},
	{Pkg: sarama, Recv: "ConsumerGroup", Name: "Consume", Sets: TopicSetting, Arg: 1},
	{Pkg: sarama, Recv: "Consumer", Name: "ConsumePartition", Sets: TopicSetting},
	{Pkg: confluent, Recv: "Consumer", Name: "Subscribe", Sets: TopicSetting},
	{Pkg: confluent, Recv: "Consumer", Name: "SubscribeTopics", Sets: TopicSetting},
	{Pkg: watermill + "/message", Recv: "Router", Name: "AddHandler", Sets: TopicSetting, Arg: 1},
	{Pkg: watermill + "/message", Recv: "Router", Name: "AddNoPublisherHandler", Sets: TopicSetting, Arg: 1},
	{Pkg: watermill + "/message", Recv: "Router", Name: "AddConsumerHandler", Sets: TopicSetting, Arg: 1},
	{Pkg: watermill + "/message", Recv: "Subscriber", Name: "Subscribe", Sets: TopicSetting, Arg: 1},
	{Pkg: watermill + "-kafka/pkg/kafka", Recv: "Subscriber", Name: "Subscribe", Sets: TopicSetting, Arg: 1},
	{Pkg: goka, Name: "DefineGroup", Sets: GroupSetting},
	{Pkg: goka, Name: "Input", Sets: TopicSetting},
	{Pkg: cloudev + "/protocol/kafka_sarama", Name: "NewConsumer", Sets: GroupSetting, Arg: 2},
	{Pkg: cloudev + "/protocol/kafka_sarama", Name: "NewConsumer", Sets: TopicSetting, Arg: 3},
	{Pkg: Runtime, Name: "Handle", Sets: TopicSetting, Arg: 1},
	{Pkg: Runtime, Name: "HandleBatch", Sets: TopicSetting, Arg: 1},
	{Pkg: Runtime, Name: "HandleCall", Sets: TopicSetting, Arg: 1},
}

// A SettingField is a field of a configuration, or a key of one that is a map, that holds a setting.
type SettingField struct {
	Pkg, Type, Field string
	Sets             Setting
}

// SettingFields are the fields and keys by which topics and groups are set.
var SettingFields = []SettingField{
	{segment, "ReaderConfig", "GroupID", GroupSetting},
	{segment, "ReaderConfig", "Topic", TopicSetting},
	{segment, "ReaderConfig", "GroupTopics", TopicSetting},
	{segment, "ConsumerGroupConfig", "ID", GroupSetting},
	{segment, "ConsumerGroupConfig", "Topics", TopicSetting},
	{watermill + "-kafka/pkg/kafka", "SubscriberConfig", "ConsumerGroup", GroupSetting},
	{confluent, "ConfigMap", "group.id", GroupSetting},
	{Runtime, "Config", "Group", GroupSetting},
}

// clients are the libraries that hand over messages, by the roots of their import paths.
var clients = []struct{ root, name string }{
	{"github.com/twmb/franz-go", "franz-go"},
	{segment, "kafka-go"},
	{sarama, "sarama"},
	{"github.com/bsm/sarama-cluster", "sarama"},
	{"github.com/confluentinc/confluent-kafka-go", "confluent-kafka-go"},
	{watermill, "watermill"},
	{watermill + "-kafka", "watermill"},
	{goka, "goka"},
	{lambda, "aws-lambda-go"},
	{cloudev, "cloudevents"},
	{Runtime, "idemlint/runtime"},
}

// Client is the name by which the client library of a package is known, "" when it is none. The path is normalised by
// the caller.
func Client(pkg string) string {
	for _, c := range clients {
		if Under(pkg, c.root) {
			return c.name
		}
	}
	return ""
}

// AcksOnReturn reports whether a client acknowledges a message when the function that it called with it returns nil.
func AcksOnReturn(client string) bool {
	switch client {
	case "watermill", "goka", "aws-lambda-go", "cloudevents", "idemlint/runtime":
		return true
	}
	return false
}
