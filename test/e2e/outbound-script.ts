/**
 * Sends the grid's outgoing traffic on the current runtime: requests to private addresses, to hostile servers and to a
 * friendly one, a notification, and emails. Also hashes a password. Prints the results as JSON. Arguments: the
 * notification's browser as JSON, an SMTP server, an email address.
 */
import process from 'node:process'
import { hashPassword, verifyPassword } from '../../src/auth/passwords.ts'
import { readConfig } from '../../src/config.ts'
import { createEmailSender } from '../../src/email.ts'
import { claimEmail } from '../../src/grid/people/email-templates.ts'
import { RemoteError } from '../../src/lib/outbound/remote-error.ts'
import { createSafeFetch } from '../../src/lib/outbound/safe-fetch.ts'
import type { SafeStreamOptions } from '../../src/lib/outbound/safe-stream.ts'
import { newPushKey, pushRequest } from '../../src/features/notifications/web-push.ts'
import { createLog } from '../../src/log.ts'
import { hostileServers, jsonResponse, listenWith } from '../support/hostile.ts'
import { ssrfUrls } from '../support/ssrf-urls.ts'

function safeFetch(env: Record<string, string>, resolve?: SafeStreamOptions['resolve']) {
  return createSafeFetch({ config: readConfig(env), log: createLog('error'), ownPorts: new Set(), resolve })
}

function faultOf(answer: Promise<unknown>): Promise<string> {
  return answer.then(() => 'answered', (error) => error instanceof RemoteError ? error.reason : String(error))
}

async function requests() {
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
  await Promise.all(hostileServers.map(async ({ name, answer }) => {
    const server = await listenWith(answer)
    const fault = await faultOf(open(`http://127.0.0.1:${server.port}/`, { timeoutMs: 500 }))
    if (fault === 'answered' || !/^[a-z_]+$/.test(fault)) answered.push(`${name}: ${fault}`)
    await server.close()
  }))

  const friendly = await listenWith(jsonResponse('{"hello":"world"}'))
  const there = await open(`http://127.0.0.1:${friendly.port}/`, { timeoutMs: 5_000, body: '{}' })
  return { connections: canary.connections(), reached, metadata, answered, friendly: there.json() }
}

async function notification(browser: string) {
  const key = newPushKey()
  const target = JSON.parse(browser)
  const text = JSON.stringify({ title: 'Grüße', body: '', tag: '', path: '/' })
  const request = await pushRequest(target, text, {
    ...{ key, contact: 'mailto:grid@grid.example', ttlSeconds: 60, now: Date.now() },
  })
  const { status } = await safeFetch({ ALLOW_PRIVATE_TARGETS: '1' })(target.endpoint, { ...request!, timeoutMs: 5_000 })
  return { status, publicKey: key.publicKey }
}

/** Sends an email to the address, and a second email to two addresses, which `sender` refuses. Returns the log. */
async function emails(smtpUrl: string, to: string) {
  const config = readConfig({ SMTP_URL: smtpUrl, MAIL_FROM: 'grid@grid.example' })
  const lines: string[] = []
  const sender = createEmailSender({ config, log: createLog('info', (line) => lines.push(line)), printLink: () => {} })
  const email = claimEmail(config, `${config.appUrl}/claim/token`, 'zoe')
  sender.send({ to, ...email })
  sender.send({ to: `${to}, bob@evil.example`, ...email })
  await sender.close(20_000)
  return lines.map((line) => JSON.parse(line).message)
}

async function password(): Promise<boolean[]> {
  const hash = await hashPassword('correct hörse')
  return [await verifyPassword(hash, 'correct hörse'), await verifyPassword(hash, 'correct horse')]
}

async function main([browser, smtpUrl, to]: string[]): Promise<void> {
  const facts = {
    requests: await requests(),
    notification: await notification(browser),
    emails: await emails(smtpUrl, to),
    password: await password(),
  }
  console.log(JSON.stringify(facts))
  process.exit(0)
}

void main(process.argv.slice(2))
