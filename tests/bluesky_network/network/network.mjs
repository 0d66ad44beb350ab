// The whole network in one process, with a door for the tests: one JSON answer for each path.
import http from 'node:http'
import { TestBsky, TestBsync, TestNetwork, TestPds, TestPlc, mockNetworkUtilities } from '@atproto/dev-env'
import getPort from 'get-port'

const limits = process.env.RATE_LIMITS === '1'
const plc = await TestPlc.create({})
const bskyPort = await getPort()
const pdsPort = await getPort()
const labeler = 'did:plc:aaaaaaaaaaaaaaaaaaaaaaaa'
const bsync = await TestBsync.create({
  apiKeys: ['bsync-api-key'],
  dbUrl: process.env.DB_POSTGRES_URL,
  dbSchema: 'bsync',
})
const bsky = await TestBsky.create({
  port: bskyPort,
  plcUrl: plc.url,
  pdsPort,
  bsyncApiKey: 'bsync-api-key',
  bsyncUrl: bsync.url,
  repoProvider: `ws://localhost:${pdsPort}`,
  dbPostgresSchema: 'appview',
  dbPostgresUrl: process.env.DB_POSTGRES_URL,
  redisHost: process.env.REDIS_HOST,
  modServiceDid: labeler,
  labelsFromIssuerDids: [labeler],
})
bsync.ctx.dataplaneClients = [bsky.ctx.dataplane]
const pds = await TestPds.create({
  port: pdsPort,
  didPlcUrl: plc.url,
  bskyAppViewUrl: bsky.url,
  bskyAppViewDid: bsky.ctx.cfg.serverDid,
  rateLimitsEnabled: limits,
  inviteRequired: false,
})
mockNetworkUtilities(pds, bsky)
const network = new TestNetwork(plc, pds, bsync, bsky, undefined, undefined)

// Calls to the PDS: method and query, user agent, and when it came and was answered, in seconds since 1970.
const calls = []
const now = () => (performance.timeOrigin + performance.now()) / 1000
pds.server.server.prependListener('request', (request, response) => {
  const came = now()
  response.on('finish', () => {
    calls.push([request.url.replace('/xrpc/', ''), request.headers['user-agent'] ?? '', came, now()])
  })
})

const doors = {
  '/calls': () => calls.splice(0),
  '/flush': async () => {
    await pds.processAll()
    await network.processFullSubscription()
    await bsky.bsyncSub.processAll(await bsync.getStreamHeads())
  },
}
const server = http.createServer(async (request, response) => {
  const door = doors[request.url]
  try {
    if (!door) throw new Error(`no door ${request.url}`)
    response.end(JSON.stringify((await door()) ?? {}))
  } catch (why) {
    response.statusCode = 500
    response.end(JSON.stringify({ error: String(why) }))
  }
})
server.listen(0, () => {
  process.stdout.write(`${JSON.stringify({ pds: pds.url, appview: bsky.url, plc: plc.url, door: server.address().port })}\n`)
})
process.on('SIGTERM', () => process.exit(0))
