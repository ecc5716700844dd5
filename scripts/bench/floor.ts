/** The floor, to which all ratios refer: a Hono server that parses a request's JSON body and sends it back. */
import { Hono } from 'hono'
import process from 'node:process'
import { listen } from '../../src/listen.ts'

const app = new Hono()
app.get('/healthz', (c) => c.json({ status: 'ok' }))
app.post('/hello', async (c) => c.json(await c.req.json()))

process.once('SIGTERM', () => process.exit(0))
void listen((request) => Promise.resolve(app.fetch(request)), { port: Number(process.env.PORT), host: '127.0.0.1' })
