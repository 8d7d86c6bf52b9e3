"""The technologies that are known, and how they are written.

One line each: the canonical name, a colon, other spellings divided by ``|``. A spelling holds in any case, unless a
mark stands before it: ``=`` its first letter must be a capital, ``^`` it must be written exactly so, ``?`` exactly so
and beside another technology or a word that tells that it is one (``Go``, ``C``, ``Spring``: words of every day). The
canonical name is a spelling too, unless the line marks it.
"""

from __future__ import annotations

LANGUAGES = """
python: python2|python3|py3|cpython
javascript: java script|ecmascript|es6|es2015|vanilla js|^JS
typescript: type script|^TS
java: java8|java11|java17|java21|java ee|j2ee|jee|jakarta ee|core java
go: ?Go|golang|go lang
rust: =Rust
ruby: =Ruby
php: php7|php8
c#: c sharp|csharp|c♯
c++: cpp|c plus plus
c: ?C|embedded c|ansi c
objective-c: objectivec|objective c|obj-c
.net: dotnet|dot net|.net core|.net framework|.net 5|.net 6|.net 7|.net 8|.net 9|dotnet core|net core
asp.net: asp.net core|asp.net mvc
f#: f sharp
visual basic: vb.net|vb6
kotlin:
swift: ^Swift
scala: =Scala|scala 3
groovy: ?Groovy
clojure: clojurescript
elixir:
erlang:
haskell:
ocaml:
dart: ?Dart
lua: =Lua
perl:
r: ?R|r programming|rstudio
julia: ?Julia
matlab:
fortran:
cobol:
abap:
apex: ?Apex|salesforce apex
solidity: =Solidity
zig: ?Zig
elm: ?Elm
bash: ?Shell|shell scripting|shell scripts|bash scripting|unix shell
powershell: power shell
sql:
t-sql: tsql|transact sql
pl/sql: plsql|pl sql
nosql: no-sql
vba:
verilog: systemverilog|system verilog
vhdl:
cuda:
webassembly: wasm
html: html5
css: css3
sass: ^SASS|scss
less: ^LESS
xml:
json:
yaml:
graphql:
"""

FRAMEWORKS = """
react: =React|reactjs|react.js
react native: reactnative
redux: redux toolkit
next.js: nextjs|next js|?Next
vue: =Vue|vue.js|vuejs|vue js|vue3
nuxt: nuxt.js|nuxtjs
angular: angularjs|angular.js|=Angular
svelte: sveltekit
ember.js: ember|emberjs
backbone.js: backbonejs
jquery:
remix: ?Remix
gatsby: =Gatsby|gatsby.js
astro: ?Astro
solid.js: solidjs
lit: ?Lit
three.js: threejs
d3: d3.js|d3js
webgl:
webpack:
rspack:
vite: =Vite
rollup: ?Rollup
esbuild:
babel: =Babel
eslint:
prettier: ?Prettier
yarn: ?Yarn
npm:
pnpm:
turborepo:
nx: ^NX|^Nx
storybook: =Storybook
tailwind: tailwindcss|tailwind css
bootstrap: ?Bootstrap
material ui: ^MUI|material-ui
postcss:
lightning css:
node.js: nodejs|node js|?Node
express: ?Express|express.js|expressjs
nestjs: nest.js
fastify:
deno: =Deno
bun: ?Bun
django: =Django
django rest framework: ^DRF
flask: =Flask
fastapi: fast api
pydantic: pydantic ai
sqlalchemy:
celery: =Celery
pandas: ^pandas|=Pandas
numpy:
scipy:
polars: ^Polars|^polars
jupyter: jupyter notebook|jupyter notebooks|jupyterhub
ruby on rails: ^RoR|^ROR|=Rails|rubyonrails
sidekiq:
sinatra: ?Sinatra
spring: ?Spring|spring framework|spring mvc|spring cloud|spring data|spring security
spring boot: springboot
hibernate: =Hibernate
quarkus:
micronaut:
laravel:
symfony:
drupal:
wordpress: word press
magento: adobe commerce
woocommerce:
shopify: =Shopify
phoenix: ?Phoenix|phoenix liveview
play framework:
akka: =Akka
ktor:
gin: ?Gin
entity framework: ef core
blazor: =Blazor
wpf: ^WPF
winforms:
xamarin:
maui: ^MAUI|.net maui
flutter: =Flutter
ionic: ?Ionic
swiftui: swift ui
uikit:
appkit:
jetpack compose:
xcode: xcode cloud
android: =Android|android sdk
ios: ^iOS|^IOS
electron: ?Electron|electron.js
qt: ?Qt
unity: ?Unity|unity3d
unreal engine: =Unreal
opengl:
vulkan: =Vulkan
ros: ?ROS|ros2
"""

DATA = """
postgresql: postgres|postgre sql|postgre|psql
mysql: my sql
mariadb:
sqlite:
sql server: mssql|ms sql|ms sql server|microsoft sql server|microsoft sql
oracle: =Oracle|oracle database|oracle db|oracle 19c
db2: ibm db2
mongodb: mongo|mongo db
redis: =Redis
memcached:
cassandra: apache cassandra|=Cassandra
scylladb:
couchbase:
couchdb:
neo4j:
elasticsearch: elastic search|^ELK|elk stack
opensearch:
solr: apache solr
dynamodb: dynamo db|amazon dynamodb
cockroachdb:
clickhouse: click house
timescaledb:
influxdb:
snowflake: =Snowflake
databricks:
bigquery: big query|google bigquery
redshift: =Redshift|amazon redshift
teradata:
vertica:
trino: =Trino
presto: =Presto
delta lake:
apache iceberg: =Iceberg
apache hudi: hudi
hadoop: apache hadoop|hdfs
hive: ?Hive|apache hive
spark: ?Spark|apache spark|pyspark|spark sql|spark streaming
kafka: apache kafka|confluent kafka|kafka streams
flink: apache flink
apache beam:
nifi: apache nifi
airflow: apache airflow
dagster:
prefect: ?Prefect
dbt: ^dbt|^DBT
fivetran:
airbyte:
informatica:
talend:
ssis: ^SSIS
ssrs: ^SSRS
etl: ^ETL|^ELT
tableau: =Tableau
power bi: powerbi
looker: =Looker|lookml
metabase:
superset: apache superset
qlik: qlikview|qlik sense
rabbitmq: rabbit mq
activemq:
pulsar: =Pulsar|apache pulsar
nats: ^NATS
zeromq:
celonis:
algolia:
pinecone: =Pinecone
weaviate:
milvus: =Milvus
qdrant:
pgvector:
chroma: ?Chroma|chromadb
faiss:
prisma: ?Prisma
supabase:
firebase:
firestore:
realm: ?Realm
s3: amazon s3|aws s3
parquet: apache parquet
avro:
protobuf: protocol buffers|protobufs
"""

FIELDS = frozenset(
    "machine learning|deep learning|computer vision|natural language processing|llm|rag|blockchain|web3|ci/cd"
    "|microservices|pwa|etl|nosql|siem|mainframe|rest|rpc|oauth|dns|tcp/ip|bgp|ospf|mpls|sd-wan|vpc|aws iam|kms|i2c|spi"
    "|uart|edi|rtos|mpi".split("|")
)
"""Fields and ways of work, styles of interfaces, protocols of networks, kinds of tools: no products."""
