/** One notification, on the runtime that runs it: to the browser in the argument, as JSON. Prints the status. */
import process from 'node:process'
import { readConfig } from '../../src/config.ts'
import { createSafeFetch } from '../../src/lib/outbound/safe-fetch.ts'
import { newPushKey, pushRequest } from '../../src/lib/outbound/web-push.ts'
import { createLog } from '../../src/log.ts'

async function main([browser]: string[]): Promise<void> {
  const config = readConfig({ ALLOW_PRIVATE_TARGETS: '1' })
  const safeFetch = createSafeFetch({ config, log: createLog('error'), ownPorts: new Set() })
  const key = await newPushKey()
  const target = JSON.parse(browser)
  const text = JSON.stringify({ title: 'Grüße', body: '', tag: '', path: '/' })
  const request = await pushRequest(target, text, { key, contact: 'mailto:grid@grid.example', ttlSeconds: 60 })
  const { status } = await safeFetch(target.endpoint, { ...request!, timeoutMs: 5_000 })
  console.log(JSON.stringify({ status, publicKey: key.publicKey }))
  process.exit(0)
}

main(process.argv.slice(2))
