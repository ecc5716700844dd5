/** An OpenID Connect provider that answers as the files in `test/wild/sso/` describe. */
import { generateKeyPairSync, sign } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { closing } from './closing.ts'
import { clientId } from './oidc.ts'

type Claims = Record<string, unknown>

/** A provider's answers as its documentation shows them. `{origin}` stands for the provider's address. */
export interface WildProvider {
  provider: string
  issuer: string
  discovery: Claims
  idToken: Claims
  userinfo: Claims
  cases: WildCase[]
}

/** The result for one person: their role in the account, or the reason for a refusal. */
export interface WildCase {
  title: string
  /** The owner's input in addition to the usual fields. */
  setUp?: Record<string, string>
  idToken?: Claims
  userinfo?: Claims
  /** Claims that the ID token lacks. */
  without?: string[]
  userinfoStatus?: number
  outcome: string
  notes?: string[]
  asksUserinfo?: boolean
  scope?: string
}

export function wildProviders(): WildProvider[] {
  const folder = new URL('../wild/sso/', import.meta.url)
  return readdirSync(folder).sort().map((name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8')))
}

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

function signed(claims: Claims): string {
  const text = `${base64({ alg: 'RS256', kid: 'one' })}.${base64(claims)}`
  return `${text}.${sign('sha256', Buffer.from(text), privateKey).toString('base64url')}`
}

export async function startWildOidc({ issuer, discovery, idToken, userinfo }: WildProvider) {
  let played: WildCase = { title: '', outcome: '' }
  let nonce = ''
  const asked: string[] = []
  const server = createServer((request, response) => answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const here = <T>(value: T): T => JSON.parse(JSON.stringify(value).replaceAll('{origin}', origin))
  const document = here(discovery) as Record<string, string>

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url!, origin)
    const json = (value: unknown, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    switch (url.pathname) {
      case new URL(document.jwks_uri).pathname:
        return void json({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'RS256' }] })
      case new URL(document.authorization_endpoint).pathname: {
        nonce = url.searchParams.get('nonce')!
        asked.push(`authorize ${url.searchParams.get('scope')}`)
        const back = new URL(url.searchParams.get('redirect_uri')!)
        back.searchParams.set('code', 'a-code')
        back.searchParams.set('state', url.searchParams.get('state')!)
        if (discovery.authorization_response_iss_parameter_supported) back.searchParams.set('iss', document.issuer)
        return void response.writeHead(302, { location: back.href }).end()
      }
      case new URL(document.token_endpoint).pathname: {
        const at = Math.floor(Date.now() / 1_000)
        const claims: Claims = { ...idToken, ...played.idToken, iss: document.issuer, aud: clientId, nonce }
        for (const name of played.without ?? []) delete claims[name]
        if (claims.auth_time !== undefined) claims.auth_time = at + Number(claims.auth_time)
        const id = signed({ ...claims, iat: at, nbf: at, exp: at + 3_600 })
        return void json({ access_token: 'an-access-token', token_type: 'Bearer', expires_in: 3_600, id_token: id })
      }
      case new URL(document.userinfo_endpoint).pathname:
        asked.push('userinfo')
        return void json({ ...userinfo, ...played.userinfo }, played.userinfoStatus)
      default:
        if (url.pathname.replace('//', '/').endsWith('/.well-known/openid-configuration')) return void json(document)
        return void json({}, 404)
    }
  }

  return {
    issuer: here(issuer),
    /** The grid's requests, in order. */
    asked,
    here,
    play: (one: WildCase) => {
      played = one
      asked.length = 0
    },
    /** Acts as a browser at the provider. Returns the path and query of the redirect back to the grid. */
    async wayBack(url: string): Promise<string> {
      const back = new URL((await fetch(url, { redirect: 'manual' })).headers.get('location')!)
      return back.pathname + back.search
    },
    close: closing(() =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      })
    ),
  }
}
