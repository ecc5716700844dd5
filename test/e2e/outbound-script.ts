/** Outgoing requests, on the runtime that runs it: to private addresses, hostile servers and a friendly one. */
import process from 'node:process'
import { readConfig } from '../../src/config.ts'
import { RemoteError } from '../../src/lib/outbound/remote-error.ts'
import { createSafeFetch, type SafeFetchOptions } from '../../src/lib/outbound/safe-fetch.ts'
import { createLog } from '../../src/log.ts'
import { hostileServers, jsonResponse, listenWith } from '../support/hostile.ts'
import { ssrfUrls } from '../support/ssrf-urls.ts'

function safeFetch(env: Record<string, string>, resolve?: SafeFetchOptions['resolve']) {
  return createSafeFetch({ config: readConfig(env), log: createLog('error'), ownPorts: new Set(), resolve })
}

function faultOf(answer: Promise<unknown>): Promise<string> {
  return answer.then(() => 'answered', (error) => error instanceof RemoteError ? error.reason : String(error))
}

async function main(): Promise<void> {
  const canary = await listenWith((socket) => socket.end())
  const closed = safeFetch({}, (host) => Promise.resolve(/public/.test(host) ? [] : ['127.0.0.1']))
  const reached: string[] = []
  for (const url of ssrfUrls(canary.port)) {
    const fault = await faultOf(closed(url, { timeoutMs: 2_000 }))
    if (fault !== 'refused' && fault !== 'not_connected') reached.push(url)
  }

  const open = safeFetch({ ALLOW_PRIVATE_TARGETS: '1' })
  const metadata = await faultOf(open('http://169.254.169.254/', { timeoutMs: 500 }))
  const answered: string[] = []
  for (const { name, answer } of hostileServers) {
    const server = await listenWith(answer)
    const fault = await faultOf(open(`http://127.0.0.1:${server.port}/`, { timeoutMs: 500 }))
    if (fault === 'answered' || !/^[a-z_]+$/.test(fault)) answered.push(`${name}: ${fault}`)
    await server.close()
  }

  const friendly = await listenWith(jsonResponse('{"hello":"world"}'))
  const there = await open(`http://127.0.0.1:${friendly.port}/`, { timeoutMs: 5_000, body: '{}' })

  const facts = { connections: canary.connections(), reached, metadata, answered, friendly: there.json() }
  console.log(JSON.stringify(facts))
  process.exit(0)
}

main()
