package know

import "strings"

const (
	squirrel = "github.com/Masterminds/squirrel"
	bun      = "github.com/uptrace/bun"
	redis    = "github.com/redis/go-redis"
	redigo   = "github.com/gomodule/redigo/redis"
	mongo    = "go.mongodb.org/mongo-driver/mongo"
)

var builderRows = []Row{
	{squirrel, "*", "Insert|Replace", BuildInsert, 0, -1},
	{squirrel, "*", "Update", BuildUpdate, 0, -1},
	{squirrel, "*", "Delete", BuildDelete, 0, -1},
	{squirrel, "*", "Select", BuildSelect, -1, -1},
	{squirrel, "*", "Columns|Values|Suffix|SuffixExpr|Prefix|Into|Options|Set|SetMap|Where|From|Limit|OrderBy|Returning|Join|LeftJoin|Column|GroupBy|Offset|Table|PrefixExpr", BuildStep, -1, -1},
	{squirrel, "InsertBuilder", "Select", BuildStep, -1, -1},
	{squirrel, "*", "ToSql|MustSql", BuildText, -1, -1},
	{squirrel, "*", "RunWith", UseTx, 0, -1},
	{squirrel, "*", "PlaceholderFormat", SameTx, -1, -1},
	{squirrel, "*", "Exec|ExecContext|Query|QueryContext|QueryRow|QueryRowContext|Scan|ScanContext", BuildRun, -1, -1},
	{squirrel, "", "ExecContextWith|ExecWith|QueryContextWith|QueryRowContextWith", BuildRun, -1, -1},

	{squirrel, "*", "ToSql|MustSql", BuildText, -1, -1},
	{"entgo.io/ent/dialect/sql", "", "DoNothing|ResolveWithIgnore|ResolveWithNewValues|ResolveWith|ConflictColumns", BuildStep, -1, -1},
	{squirrel, "", "Expr", BuildExpr, 0, 1},
	{"gorm.io/gorm", "", "Expr", BuildExpr, 0, 1},

	{bun, "*", "NewInsert|NewMerge", BuildInsert, -1, -1},
	{bun, "*", "NewUpdate", BuildUpdate, -1, -1},
	{bun, "*", "NewDelete", BuildDelete, -1, -1},
	{bun, "*", "NewSelect", BuildSelect, -1, -1},
	{bun, "*", "NewRaw|Raw", BuildRaw, 0, 1},
	{bun, "*", "Model|Table|TableExpr|ModelTableExpr|Column|ColumnExpr|ExcludeColumn|Value|On|Set|SetColumn|Where|WhereOr|WherePK|WhereGroup|Returning|Ignore|Replace|Limit|Order|OrderExpr|For|Join|Relation|OmitZero|Bulk", BuildStep, -1, -1},
	{bun, "*", "Conn", UseTx, 0, -1},
	{bun, "*", "Exec|Scan|Count|Exists|ScanAndCount", BuildRun, -1, -1},
	{bun, "*", "ExecContext", SQLExec, 1, 2},
	{bun, "*", "QueryContext", SQLQuery, 1, 2},
	{bun, "*", "QueryRowContext", SQLQueryRow, 1, 2},
	{bun, "*", "BeginTx|Begin", Begin, -1, -1},
	{bun, "*", "RunInTx", TxFunc, 2, -1},
	{bun, "Tx", "Commit", Commit, -1, -1},
	{bun, "Tx", "Rollback", Rollback, -1, -1},
}

var redisRows = []Row{
	{redis, "*", "SetNX", RedisSetNX, 1, 2},
	{redis, "*", "SetArgs", RedisSet, 1, 2},
	{redis, "*", "Set|SetEx|SetXX|GetSet|SetEX", RedisSet, 1, 2},
	{redis, "*", "MSet", RedisSet, 1, -1},
	{redis, "*", "HSet|HMSet", RedisSet, 1, 2},
	{redis, "*", "GeoAdd|PFAdd|SetBit", RedisSet, 1, -1},
	{redis, "*", "HSetNX", RedisSetNX, 2, 3},
	{redis, "*", "Del|Unlink|HDel|Expire|ExpireAt|PExpire|Persist|SRem|ZRem|XAck|XDel", RedisDel, 1, -1},
	{redis, "*", "Get|GetEx|GetDel|MGet|HGet", RedisGet, 1, -1},
	{redis, "*", "Exists", RedisExists, 1, -1},
	{redis, "*", "HExists|SIsMember", RedisSMember, 1, 2},
	{redis, "*", "SAdd", RedisSAdd, 1, 2},
	{redis, "*", "ZAdd", RedisSet, 1, 2},
	{redis, "*", "ZAddNX", RedisSAdd, 1, 2},
	{redis, "*", "Incr|IncrBy|IncrByFloat|Decr|DecrBy|HIncrBy|HIncrByFloat|LPush|RPush|LPushX|RPushX|LPop|RPop|BLPop|BRPop|RPopLPush|LMove|XAdd|ZIncrBy|Append|Publish|SPop|ZPopMin|ZPopMax|LRem|LTrim|XTrim", RedisWrite, 1, -1},
	{redis, "", "NewScript", RedisNewLua, 0, -1},
	{redis, "*", "Eval|EvalSha|EvalRO|Run|RunRO", RedisScript, 2, -1},
	{redis, "*", "TxPipelined|Pipelined", RedisPipe, 1, -1},
	{redis, "*", "Watch", CallFunc, 1, -1},
	{redis, "*", "Do", RedisDo, 1, -1},
	{redis, "*", "Exec", RedisPipe, -1, -1},
	{redis, "*", "Result|Val|Err|Bool|Int|Int64|Uint64|Text|Bytes|String", RedisResult, -1, -1},
	{redis, "*", "Ping|Close|TTL|Keys|Scan|Subscribe|PSubscribe|HGetAll|SMembers|LRange|ZRange|ZRevRange|ZScore|SCard|ZCard|LLen|HLen|HKeys|HVals|XRead|XReadGroup|XRange|Pipeline|TxPipeline|Type|ZRangeByScore|ZRevRangeWithScores|ZRangeWithScores|ZRank|ZRevRank", Silent, -1, -1},
	{redigo, "Conn", "Do|Send", RedisDo, 0, 1},
	{redigo, "", "Int|Int64|Uint64|Bool|String|Bytes|Values", RedisResult, -1, -1},
	{redigo, "", "DoContext", RedisDo, 2, 3},
	{redigo, "Pool", "Get|GetContext", SameTx, -1, -1},
}

var mongoRows = []Row{
	{mongo, "Database", "Collection", MongoCollection, 0, -1},
	{mongo, "Collection", "InsertOne|InsertMany", MongoInsert, 1, -1},
	{mongo, "Collection", "BulkWrite", MongoBulk, 1, -1},
	{mongo, "", "NewInsertOneModel|NewUpdateOneModel|NewUpdateManyModel|NewReplaceOneModel|NewDeleteOneModel|NewDeleteManyModel", MongoModel, -1, -1},
	{mongo, "*", "SetDocument|SetFilter|SetUpdate|SetReplacement|SetArrayFilters|SetHint|SetCollation|SetSort", BuildStep, -1, -1},
	{mongo, "*", "SetUpsert", BuildStep, -1, -1},
	{mongo + "/options", "*", "SetUpsert|SetReturnDocument|SetProjection", BuildStep, -1, -1},
	{mongo, "Collection", "UpdateOne|UpdateMany|UpdateByID|FindOneAndUpdate", MongoUpdate, 1, 2},
	{mongo, "Collection", "ReplaceOne|FindOneAndReplace", MongoReplace, 1, 2},
	{mongo, "Collection", "DeleteOne|DeleteMany|FindOneAndDelete|Drop", MongoDelete, 1, -1},
	{mongo, "Collection", "FindOne", MongoFind, 1, -1},
	{mongo, "Collection", "Find|Aggregate|Distinct", Silent, -1, -1},
	{mongo, "Collection", "CountDocuments|EstimatedDocumentCount", MongoCount, 1, -1},
	{mongo, "SingleResult", "Decode|Err", Scan, 0, -1},
	{mongo, "", "IsDuplicateKeyError", IsDuplicate, 0, -1},
	{"github.com/jackc/pgerrcode", "", "IsIntegrityConstraintViolation", IsDuplicate, 0, -1},
	{mongo, "*", "WithTransaction", TxFunc, 1, -1},
	{mongo, "Client", "UseSession|UseSessionWithOptions", CallFunc, -1, -1},
}

const esapi = "github.com/elastic/go-elasticsearch"

var outsideRows = []Row{
	{"net/smtp", "", "SendMail", Mail, -1, -1},
	{"gopkg.in/gomail", "*", "DialAndSend|Send", Mail, -1, -1},
	{"github.com/go-gomail/gomail", "*", "DialAndSend|Send", Mail, -1, -1},
	{"github.com/jordan-wright/email", "Email", "Send|SendWithTLS|SendWithStartTLS", Mail, -1, -1},
	{"github.com/wneessen/go-mail", "Client", "DialAndSend|DialAndSendWithContext|Send", Mail, -1, -1},
	{"github.com/xhit/go-simple-mail", "Email", "Send", Mail, -1, -1},
	{"github.com/mailgun/mailgun-go", "*", "Send", Mail, -1, -1},
	{"github.com/resend/resend-go", "*", "Send|SendWithContext", Mail, -1, -1},
	{"github.com/sendgrid/sendgrid-go", "*", "Send|SendWithContext|API", Mail, -1, -1},
	{"github.com/aws/aws-sdk-go/service/ses", "*", "SendEmail|SendRawEmail|SendEmailWithContext", Mail, -1, -1},
	{"github.com/aws/aws-sdk-go/service/sesv2", "*", "SendEmail", Mail, -1, -1},
	{"github.com/aws/aws-sdk-go-v2/service/ses", "Client", "SendEmail|SendRawEmail", Mail, -1, -1},
	{"github.com/aws/aws-sdk-go-v2/service/sesv2", "Client", "SendEmail", Mail, -1, -1},
	{"github.com/aws/aws-sdk-go-v2/service/sns", "Client", "Publish|PublishBatch", OtherWrite, 1, -1},
	{"github.com/aws/aws-sdk-go-v2/service/sqs", "Client", "SendMessage|SendMessageBatch", OtherWrite, 1, -1},
	{"github.com/aws/aws-sdk-go-v2/service/dynamodb", "Client", "UpdateItem|TransactWriteItems", OtherWrite, 1, -1},
	{"github.com/aws/aws-sdk-go-v2/service/dynamodb", "Client", "PutItem|DeleteItem|BatchWriteItem", KeyStore, 1, -1},
	{"github.com/aws/aws-sdk-go-v2/service/s3", "Client", "PutObject|DeleteObject|CopyObject", KeyStore, 1, -1},
	{"github.com/twilio/twilio-go/rest/api/v2010", "ApiService", "CreateMessage|CreateCall", OtherWrite, -1, -1},
	{"firebase.google.com/go/messaging", "Client", "Send|SendMulticast|SendAll|SendEach|SendEachForMulticast", OtherWrite, -1, -1},
	{"github.com/slack-go/slack", "Client", "PostMessage|PostMessageContext", OtherWrite, -1, -1},
	{"github.com/nats-io/nats.go", "*", "Publish|PublishMsg|Request|PublishAsync", OtherWrite, -1, -1},
	{"github.com/rabbitmq/amqp091-go", "Channel", "Publish|PublishWithContext|PublishWithDeferredConfirm", OtherWrite, -1, -1},
	{"github.com/streadway/amqp", "Channel", "Publish", OtherWrite, -1, -1},
	{"github.com/olivere/elastic", "IndexService", "Do", ESWrite, -1, -1},
	{esapi + "/esapi", "IndexRequest", "Do", ESWrite, -1, -1},
	{esapi, "*", "Index|Bulk|Update", ESWrite, -1, -1},
	{"github.com/ClickHouse/clickhouse-go/lib/driver", "*", "Exec|AsyncInsert", SQLExec, 1, 2},
	{"github.com/ClickHouse/clickhouse-go/lib/driver", "Batch", "Send", OtherWrite, -1, -1},
	{"os", "", "WriteFile", FileWrite, 0, -1},
	{"os", "File", "Write|WriteString|WriteAt|ReadFrom", FileWrite, -2, -1},
	{"io/ioutil", "", "WriteFile", FileWrite, 0, -1},
	{"os", "", "OpenFile", FileOpen, 0, 1},
	{"os", "", "Create|CreateTemp", FileOpen, 0, -1},
	{"io/ioutil", "", "TempFile", FileOpen, 0, -1},
	{"fmt", "", "Fprint|Fprintf|Fprintln", FileWrite, 0, -1},
	{"io", "", "Copy|CopyN|CopyBuffer|WriteString", FileWrite, 0, -1},
	{"io", "Writer", "Write", FileWrite, -2, -1},
	{"bufio", "", "NewWriter|NewWriterSize", WriterOver, 0, -1},
	{"bufio", "Writer", "Write|WriteString|WriteByte|WriteRune|ReadFrom", FileWrite, -2, -1},
	{"io", "", "MultiWriter", WriterOver, 0, -1},
	{"encoding/json", "", "NewEncoder", WriterOver, 0, -1},
	{"encoding/json", "Encoder", "Encode", FileWrite, -2, -1},
	{"encoding/xml", "", "NewEncoder", WriterOver, 0, -1},
	{"encoding/xml", "Encoder", "Encode|EncodeElement", FileWrite, -2, -1},
	{"encoding/gob", "", "NewEncoder", WriterOver, 0, -1},
	{"encoding/gob", "Encoder", "Encode", FileWrite, -2, -1},
	{"encoding/csv", "", "NewWriter", WriterOver, 0, -1},
	{"encoding/csv", "Writer", "Write|WriteAll", FileWrite, -2, -1},
	{"compress/gzip", "", "NewWriter|NewWriterLevel", WriterOver, 0, -1},
	{"compress/gzip", "Writer", "Write", FileWrite, -2, -1},
}

// senders are words in the import paths of libraries that send mail, texts and notifications.
var senders = []string{
	"resend", "sendgrid", "mailgun", "postmark", "mailjet", "mandrill", "gomail", "go-mail", "smtp", "sesv2", "twilio", "vonage", "nexmo",
	"apns", "fcm", "telegram", "discordgo", "slack", "pushover", "onesignal", "sendinblue", "brevo", "whatsapp", "messagebird", "plivo",
}

// Sends reports whether a function of a library sends something to people: mail, a text, a notification.
func Sends(pkg, name string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	if !strings.Contains(first, ".") {
		return false
	}
	w := Words(name)
	if len(w) == 0 {
		return false
	}
	switch w[0] {
	case "send", "post", "push", "deliver", "notify", "dial":
	default:
		return false
	}
	if name == "Dial" {
		return false
	}
	for _, part := range strings.Split(strings.ToLower(pkg), "/")[1:] {
		for _, s := range senders {
			if strings.Contains(part, s) {
				return true
			}
		}
	}
	return false
}
