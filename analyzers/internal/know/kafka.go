package know

// A MessageType is a client library's type for one consumed message, or for several of them.
type MessageType struct {
	Pkg, Name string
	Batch     bool // holds several
}

// Messages lists every type in which a client library hands over messages.
var Messages = []MessageType{
	{Pkg: franz, Name: "Record"},
	{Pkg: franz, Name: "Fetches", Batch: true},
	{Pkg: franz, Name: "Fetch", Batch: true},
	{Pkg: franz, Name: "FetchTopic", Batch: true},
	{Pkg: franz, Name: "FetchPartition", Batch: true},
	{Pkg: franz, Name: "FetchTopicPartition", Batch: true},
	{Pkg: franz, Name: "FetchesRecordIter", Batch: true},
	{Pkg: segment, Name: "Message"},
	{Pkg: sarama, Name: "ConsumerMessage"},
	{Pkg: confluent, Name: "Message"},
	{Pkg: watermill + "/message", Name: "Message"},
	{Pkg: lambda + "/events", Name: "KafkaEvent", Batch: true},
	{Pkg: lambda + "/events", Name: "KafkaRecord"},
	{Pkg: goka, Name: "Message"},
}

const (
	franz     = "github.com/twmb/franz-go/pkg/kgo"
	segment   = "github.com/segmentio/kafka-go"
	sarama    = "github.com/IBM/sarama"
	confluent = "github.com/confluentinc/confluent-kafka-go/kafka"
	watermill = "github.com/ThreeDotsLabs/watermill"
	lambda    = "github.com/aws/aws-lambda-go"
	goka      = "github.com/lovoo/goka"
	cloudev   = "github.com/cloudevents/sdk-go"
)

// MessageOf tells whether a named type is a message type, and whether it holds several.
func MessageOf(pkg, name string) (ok, batch bool) {
	for _, m := range Messages {
		if m.Name == name && m.Pkg == pkg {
			return true, m.Batch
		}
	}
	return false, false
}

// A Role says what a field of a message means.
type Role uint8

// The roles of a message's fields.
const (
	NoRole Role = iota
	RoleOffset
	RolePartition
	RoleTopic
	RoleKey
	RoleValue
	RoleHeaders
	RoleUUID // watermill: the id that travels in a header
	RoleTime
	RoleHeaderName  // of one header
	RoleHeaderValue // of one header
	RoleNewID       // a function that makes messages' ids
)

type field struct{ pkg, typ, name string }

var roles = map[field]Role{
	{franz, "Record", "Offset"}: RoleOffset, {franz, "Record", "Partition"}: RolePartition,
	{franz, "Record", "Topic"}: RoleTopic, {franz, "Record", "Key"}: RoleKey, {franz, "Record", "Value"}: RoleValue,
	{franz, "Record", "Headers"}: RoleHeaders, {franz, "Record", "Timestamp"}: RoleTime,
	{segment, "Message", "Offset"}: RoleOffset, {segment, "Message", "Partition"}: RolePartition,
	{segment, "Message", "Topic"}: RoleTopic, {segment, "Message", "Key"}: RoleKey,
	{segment, "Message", "Value"}: RoleValue, {segment, "Message", "Headers"}: RoleHeaders,
	{segment, "Message", "Time"}:          RoleTime,
	{sarama, "ConsumerMessage", "Offset"}: RoleOffset, {sarama, "ConsumerMessage", "Partition"}: RolePartition,
	{sarama, "ConsumerMessage", "Topic"}: RoleTopic, {sarama, "ConsumerMessage", "Key"}: RoleKey,
	{sarama, "ConsumerMessage", "Value"}: RoleValue, {sarama, "ConsumerMessage", "Headers"}: RoleHeaders,
	{sarama, "ConsumerMessage", "Timestamp"}: RoleTime,
	{confluent, "TopicPartition", "Offset"}:  RoleOffset, {confluent, "TopicPartition", "Partition"}: RolePartition,
	{confluent, "TopicPartition", "Topic"}: RoleTopic, {confluent, "Message", "Key"}: RoleKey,
	{confluent, "Message", "Value"}: RoleValue, {confluent, "Message", "Headers"}: RoleHeaders,
	{confluent, "Message", "Timestamp"}:           RoleTime,
	{lambda + "/events", "KafkaRecord", "Offset"}: RoleOffset, {lambda + "/events", "KafkaRecord", "Partition"}: RolePartition,
	{lambda + "/events", "KafkaRecord", "Topic"}: RoleTopic, {lambda + "/events", "KafkaRecord", "Key"}: RoleKey,
	{lambda + "/events", "KafkaRecord", "Value"}: RoleValue, {lambda + "/events", "KafkaRecord", "Headers"}: RoleHeaders,
	{lambda + "/events", "KafkaRecord", "Timestamp"}:                 RoleTime,
	{watermill + "/message", "Message", "UUID"}:                      RoleUUID,
	{watermill + "/message", "Message", "Payload"}:                   RoleValue,
	{watermill + "/message", "Message", "Metadata"}:                  RoleHeaders,
	{watermill + "/components/cqrs", "JSONMarshaler", "NewUUID"}:     RoleNewID,
	{watermill + "/components/cqrs", "ProtoMarshaler", "NewUUID"}:    RoleNewID,
	{watermill + "/components/cqrs", "ProtobufMarshaler", "NewUUID"}: RoleNewID,
	{goka, "Message", "Offset"}:                                      RoleOffset, {goka, "Message", "Partition"}: RolePartition,
	{goka, "Message", "Topic"}: RoleTopic, {goka, "Message", "Key"}: RoleKey, {goka, "Message", "Value"}: RoleValue,
	{goka, "Message", "Header"}:    RoleHeaders,
	{franz, "RecordHeader", "Key"}: RoleHeaderName, {franz, "RecordHeader", "Value"}: RoleHeaderValue,
	{segment + "/protocol", "Header", "Key"}: RoleHeaderName, {segment + "/protocol", "Header", "Value"}: RoleHeaderValue,
	{segment, "Header", "Key"}: RoleHeaderName, {segment, "Header", "Value"}: RoleHeaderValue,
	{sarama, "RecordHeader", "Key"}: RoleHeaderName, {sarama, "RecordHeader", "Value"}: RoleHeaderValue,
	{confluent, "Header", "Key"}: RoleHeaderName, {confluent, "Header", "Value"}: RoleHeaderValue,
}

// FieldRole tells what a field of a library's type means.
func FieldRole(pkg, typ, name string) Role { return roles[field{pkg, typ, name}] }

var kafkaRows = []Row{
	// franz-go
	{franz, "Client", "CommitRecords", Ack, 1, -1},
	{franz, "Client", "CommitUncommittedOffsets|CommitMarkedOffsets", Ack, -1, -1},
	{franz, "Client", "CommitOffsets|CommitOffsetsSync", Ack, -1, 1},
	{franz, "Client", "MarkCommitRecords", Ack, 0, -1},
	{franz, "Client", "MarkCommitOffsets", Ack, -1, 0},
	{franz, "Client", "ProduceSync|Produce|TryProduce", Produce, 1, -1},
	{franz, "Client", "Flush|AllowRebalance|PollFetches|PollRecords|Close|CloseAllowingRebalance|PauseFetchPartitions|ResumeFetchPartitions|Ping|LeaveGroup|PauseFetchTopics|ResumeFetchTopics|SetOffsets|AddConsumeTopics|ForceMetadataRefresh", Silent, -1, -1},
	{franz, "ProduceResults", "FirstErr|First", Delivered, -1, -1},
	{franz, "Fetches", "EachRecord|EachPartition|EachTopic", Each, 0, -1},
	{franz, "Fetches", "EachError", EachFault, 0, -1},
	{franz, "FetchTopic", "EachRecord|EachPartition", Each, 0, -1},
	{franz, "FetchTopicPartition", "EachRecord", Each, 0, -1},
	{franz, "FetchPartition", "EachRecord", Each, 0, -1},
	{franz, "GroupTransactSession", "End", TxnEnd, -1, -1},
	{franz, "GroupTransactSession", "Begin|PollFetches|PollRecords", Silent, -1, -1},
	{franz, "GroupTransactSession", "ProduceSync|Produce", Silent, -1, -1},

	// kafka-go
	{segment, "Reader", "CommitMessages", Ack, 1, -1},
	{segment, "", "NewReader", NewReader, 0, -1},
	{segment, "Reader", "ReadMessage", AutoRead, -1, -1},
	{segment, "Reader", "Close|SetOffset|SetOffsetAt|Stats|Config|Lag|Offset|ReadLag|FetchMessage", Silent, -1, -1},
	{segment, "Generation", "CommitOffsets", Ack, -1, 0},
	{segment, "Generation", "Start", GoFunc, 0, -1},
	{segment, "Writer", "WriteMessages", Produce, 1, -1},
	{segment, "Conn", "WriteMessages", Produce, 0, -1},
	{segment, "Conn", "Write|WriteCompressedMessages", Produce, 0, -1},

	// sarama
	{sarama, "ConsumerGroupSession", "MarkMessage", Ack, 0, -1},
	{sarama, "ConsumerGroupSession", "MarkOffset|Commit", Ack, -1, -1},
	{sarama, "ConsumerGroupSession", "ResetOffset", Nack, -1, -1},
	{sarama, "PartitionOffsetManager", "MarkOffset", Ack, -1, -1},
	{sarama, "SyncProducer", "SendMessage|SendMessages", Produce, 0, -1},
	{sarama, "AsyncProducer", "Input", Silent, -1, -1},
	{sarama, "SyncProducer", "Close", Silent, -1, -1},
	{sarama, "ConsumerGroup", "Consume", Register, 2, -1},

	// confluent
	{confluent, "Consumer", "CommitMessage", Ack, 0, -1},
	{confluent, "Consumer", "StoreMessage", Ack, 0, -1},
	{confluent, "Consumer", "Commit", Ack, -1, -1},
	{confluent, "Consumer", "CommitOffsets|StoreOffsets", Ack, -1, 0},
	{confluent, "Consumer", "Poll|Events", Consumed, -1, -1},
	{confluent, "Producer", "Produce", Produce, 0, -1},
	{confluent, "Producer", "ProduceBatch", Produce, 1, -1},
	{confluent, "Producer", "Events", Delivered, -1, -1},
	{confluent, "Producer", "Flush|Close|Len", Silent, -1, -1},
	{confluent, "Producer", "SendOffsetsToTransaction", TxnEnd, -1, -1},

	// watermill
	{watermill + "/message", "Message", "Ack", Ack, -2, -1},
	{watermill + "/message", "Message", "Nack", Nack, -2, -1},
	{watermill + "/message", "Publisher", "Publish", Produce, 1, -1},
	{watermill + "-kafka/pkg/kafka", "Publisher", "Publish", Produce, 1, -1},
	{watermill + "-kafka/pkg/kafka", "", "MessagePartitionOffsetFromCtx", OffsetOf, -1, -1},
	{watermill + "-kafka/pkg/kafka", "", "MessagePartitionFromCtx", PlaceOf, -1, -1},
	{watermill + "-kafka/pkg/kafka", "", "MessageKeyFromCtx", KeyOf, -1, -1},
	{watermill + "-amqp/pkg/amqp", "Publisher", "Publish", Produce, 1, -1},
	{watermill + "-nats/pkg/nats", "Publisher", "Publish", Produce, 1, -1},
	{watermill + "/message", "Router", "AddHandler", Register, 5, -1},
	{watermill + "/message", "Router", "AddNoPublisherHandler|AddConsumerHandler", Register, 3, -1},
	{watermill + "/message", "*", "AddMiddleware", Middleware, -1, -1},
	{watermill + "/message", "", "NewMessage|NewMessageWithContext", NewMessage, 0, 1},
	{watermill + "/message", "Metadata", "Get", HeaderRead, 0, -1},
	{watermill + "/message", "Metadata", "Set", HeaderWrite, 0, 1},
	{watermill + "/components/cqrs", "", "NewEventHandler|NewCommandHandler|NewGroupEventHandler|NewCommandHandlerWithConfig", Register, -1, -1},
	{watermill + "/components/cqrs", "EventBus", "Publish", Produce, 1, -1},
	{watermill + "/components/cqrs", "CommandBus", "Send", Produce, 1, -1},
	{watermill, "", "NewUUID|NewShortUUID", V4, -1, -1},
	{watermill, "", "NewULID", V7, -1, -1},

	// goka
	{goka, "", "Input", Register, 2, -1},
	{goka, "", "Loop", Register, 1, -1},
	{goka, "Context", "Emit", Produce, 2, -1},
	{goka, "Context", "Fail", Nack, -1, -1},
	{goka, "Context", "Headers", HeadersOf, -1, -1},
	{goka, "Context", "Offset", OffsetOf, -1, -1},
	{goka, "Context", "Topic|Partition", PlaceOf, -1, -1},
	{goka, "Context", "Key", KeyOf, -1, -1},
	{goka, "Context", "SetValue", OtherWrite, 0, -1},
	{goka, "Emitter", "Emit|EmitSync", Produce, 1, -1},

	// aws-lambda-go
	{lambda + "/lambda", "", "Start|StartWithOptions|StartHandlerFunc|StartWithContext|NewHandler|StartHandler", Register, 0, -1},

	// cloudevents
	{cloudev + "/client", "Client", "StartReceiver", Register, 1, -1},

	{Runtime, "", "Handle|HandleBatch", Register, 2, -1},
	{cloudev + "/client", "Client", "Send|Request", Produce, 1, -1},
	{cloudev + "/event", "Event", "SetID", EventIDSink, 0, -1},
	{cloudev + "/event", "EventWriter", "SetID", EventIDSink, 0, -1},
	{cloudev + "/event", "EventContextV1", "SetID", EventIDSink, 0, -1},
	{cloudev + "/event", "Event", "DataAs", Decode, -2, 0},
}

// Seeds are the import paths, with all below them, that make a dependency worth looking at: Kafka clients and SQL
// drivers. What imports none of them, at any distance, can neither consume a message nor remember one.
var Seeds = []string{
	"github.com/twmb/franz-go", "github.com/segmentio/kafka-go", "github.com/IBM/sarama", "github.com/Shopify/sarama",
	"github.com/bsm/sarama-cluster", "github.com/confluentinc/confluent-kafka-go", "gopkg.in/confluentinc/confluent-kafka-go.v1",
	"github.com/ThreeDotsLabs/watermill", "github.com/ThreeDotsLabs/watermill-kafka", "github.com/lovoo/goka",
	"github.com/aws/aws-lambda-go/events", "github.com/cloudevents/sdk-go",
	"github.com/jackc/pgx", "github.com/jackc/pgconn", "github.com/lib/pq", "github.com/jmoiron/sqlx", "gorm.io/gorm",
	"github.com/jinzhu/gorm", "github.com/uptrace/bun", "entgo.io/ent", "github.com/Masterminds/squirrel",
	"go.mongodb.org/mongo-driver", "github.com/redis/go-redis", "github.com/go-redis/redis", "github.com/gomodule/redigo",
	"github.com/go-sql-driver/mysql", "github.com/mattn/go-sqlite3", "modernc.org/sqlite",
	"github.com/idemlint/idemlint/runtime",
}

// Library reports whether a package belongs to a library that the tables describe: its calls mean what the rows say
// and its bodies are not looked into. The path is normalised by the caller.
func Library(pkg string) bool {
	for _, root := range libraries {
		if Under(pkg, root) {
			return true
		}
	}
	return false
}

var libraries = []string{
	"github.com/twmb/franz-go", segment, sarama, "github.com/bsm/sarama-cluster", "github.com/confluentinc/confluent-kafka-go", watermill,
	lambda, goka, cloudev, "github.com/jackc/pgx", "github.com/lib/pq", "github.com/jmoiron/sqlx", "gorm.io", "github.com/uptrace/bun",
	"entgo.io/ent", "github.com/Masterminds/squirrel", "go.mongodb.org/mongo-driver", "github.com/redis/go-redis",
	"github.com/gomodule/redigo", "github.com/go-sql-driver/mysql", "github.com/mattn/go-sqlite3", "modernc.org/sqlite",
	"github.com/google/uuid", "github.com/gofrs/uuid", "github.com/satori/go.uuid", "github.com/hashicorp/go-uuid",
	"github.com/go-resty/resty", "google.golang.org/grpc", "google.golang.org/protobuf", "github.com/stripe/stripe-go",
	"go.uber.org/zap", "github.com/rs/zerolog", "github.com/sirupsen/logrus", "github.com/prometheus", "go.opentelemetry.io",
	"golang.org/x", "go.uber.org", "github.com/spf13", "github.com/aws/aws-sdk-go", "k8s.io", "github.com/gin-gonic", "github.com/labstack",
	"github.com/gorilla", "github.com/go-chi", "github.com/gofiber", "github.com/golang", "github.com/gogo", "cloud.google.com",
	"github.com/stretchr", "github.com/elastic", "github.com/opensearch-project", "github.com/olivere/elastic",
	"github.com/ClickHouse", "github.com/golang-migrate", "github.com/pressly/goose", "github.com/hashicorp", "github.com/nats-io",
	"github.com/rabbitmq", "github.com/streadway", "github.com/testcontainers", "github.com/docker", "github.com/getsentry",
	"github.com/idemlint/idemlint/runtime",
}

// ByName reports whether a package's functions are taken for what their names say: managers of transactions, which look
// for one in the context in too many ways to be followed.
func ByName(path string) bool {
	return Under(path, "github.com/avito-tech/go-transaction-manager") || Under(path, "github.com/Thiht/transactor")
}
