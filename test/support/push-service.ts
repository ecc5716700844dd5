/** A push service with a browser behind it. It receives notifications, verifies their sender, and decrypts them. */
import { Buffer } from 'node:buffer'
import { createDecipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A received notification. */
interface TakenPush {
  path: string
  headers: IncomingHttpHeaders
  /** The content that the browser displays. */
  shown: { title: string; body: string; tag: string; path: string }
  /** The claims of the sender's signed token. */
  claims: { aud: string; exp: number; sub: string }
  /** The public key that verifies its signature, in base64url. */
  publicKey: string
}

/** The service's response to one request; by default 201. */
export type PushAnswer =
  | { status: number; headers?: Record<string, string> }
  | ((response: ServerResponse) => void | Promise<void>)

export type PushService = Awaited<ReturnType<typeof startPushService>>

/** Starts a push service on a free port. `subscription` returns a browser's subscription. */
export async function startPushService() {
  const browser = createECDH('prime256v1')
  const publicKey = browser.generateKeys()
  const auth = randomBytes(16)
  const taken: TakenPush[] = []
  const answers: PushAnswer[] = []

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { claims, key } = await signatureOf(request.headers.authorization ?? '')
    const shown = JSON.parse(decrypted(Buffer.concat(chunks)).toString())
    taken.push({ path: request.url!, headers: request.headers, shown, claims, publicKey: key })
    const answer = answers.shift() ?? { status: 201 }
    if (typeof answer === 'function') answer(response)
    else response.writeHead(answer.status, answer.headers).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  /** @see RFC 8291 §3.4, RFC 8188 §2.1 */
  function decrypted(body: Buffer): Buffer {
    const salt = body.subarray(0, 16)
    const sender = body.subarray(21, 21 + body[20])
    const secret = browser.computeSecret(sender)
    const derive = (ikm: Buffer, from: Buffer, info: Buffer, length: number) =>
      Buffer.from(hkdfSync('sha256', ikm, from, info, length))
    const ikm = derive(secret, auth, Buffer.concat([Buffer.from('WebPush: info\0'), publicKey, sender]), 32)
    const key = derive(ikm, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16)
    const nonce = derive(ikm, salt, Buffer.from('Content-Encoding: nonce\0'), 12)
    const decipher = createDecipheriv('aes-128-gcm', key, nonce)
    decipher.setAuthTag(body.subarray(-16))
    const padded = Buffer.concat([decipher.update(body.subarray(21 + body[20], -16)), decipher.final()])
    return padded.subarray(0, padded.lastIndexOf(2))
  }

  return {
    url,
    taken,
    /** Responses to the next requests, in order. */
    answers,
    /** Returns a browser's subscription. Each path stands for a different browser. */
    subscription: (path = '/browser') => ({
      endpoint: url + path,
      p256dh: publicKey.toString('base64url'),
      auth: auth.toString('base64url'),
      userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    }),
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

/** Verifies the sender's token. @see RFC 8292 §2 and §3 */
async function signatureOf(authorization: string) {
  const [, token, key] = authorization.match(/^vapid t=([\w.-]+), k=([\w-]+)$/) ?? []
  const [head, claims, signature] = token.split('.')
  const p256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const publicKey = await crypto.subtle.importKey('raw', Buffer.from(key, 'base64url'), p256, false, ['verify'])
  const signed = Buffer.from(`${head}.${claims}`)
  const isValid = await crypto.subtle.verify(p256, publicKey, Buffer.from(signature, 'base64url'), signed)
  if (!isValid) throw new Error('The token is not signed with its key')
  return { claims: JSON.parse(Buffer.from(claims, 'base64url').toString()), key }
}
