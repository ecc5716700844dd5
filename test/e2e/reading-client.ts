/** An MCP client that reads its inbox, prints the messages and stays open. Arguments: URL, key, tool arguments. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import process from 'node:process'
import { toolOutput } from './client.ts'

const [url, key, args] = process.argv.slice(2)
const client = new Client({ name: 'reader', version: '1' }, { versionNegotiation: { mode: 'auto' } })
const headers = { Authorization: `Bearer ${key}` }
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
const result = await client.callTool({ name: 'read_messages', arguments: JSON.parse(args) })
process.stdout.write(`${JSON.stringify(toolOutput('read_messages', result))}\n`)
setInterval(() => {}, 1_000)
