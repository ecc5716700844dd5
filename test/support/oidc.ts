/** A real OpenID Connect provider on a free port. Its users sign in without a page. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider, { type Configuration } from 'oidc-provider'
import { type Browser, type Page, unescapeHtml } from './browse.ts'
import { closing } from './closing.ts'

export type OidcServer = Awaited<ReturnType<typeof startOidc>>

export const clientId = 'the-grid'
export const clientSecret = 'a-secret-of-the-grid-that-is-long-enough'

/** Starts the provider. `claims` are the claims of its only user, `sub`. */
export async function startOidc() {
  const claims: Record<string, unknown> & { sub: string } = {
    sub: 'u-1',
    email: 'una@corp.example',
    email_verified: true,
    name: 'Una',
  }
  let provider: Provider | undefined
  const state: { hidesKeys: boolean; userInfo?: object } = { hidesKeys: false }
  const server = createServer((request, response) => {
    void (async () => {
      if (!provider) return response.writeHead(503).end()
      const said = request.url === '/jwks' && state.hidesKeys ? { keys: [] } : request.url === '/me' && state.userInfo
      if (said) return response.setHeader('content-type', 'application/json').end(JSON.stringify(said))
      if (!request.url!.startsWith('/interaction/')) return provider.callback()(request, response)
      await provider.interactionFinished(request, response, { login: { accountId: claims.sub } })
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    issuer,
    claims,
    /** `hidesKeys`: whether no signing keys are published. `userInfo`: a replacement for the userinfo response. */
    state,
    /** Serves clients with these redirect addresses. `said` is the issuer that the provider claims to be. */
    serve(redirectUris: string[], { said = issuer, ...options }: Configuration & { said?: string } = {}) {
      provider = new Provider(said, {
        clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: redirectUris }],
        claims: { email: ['email', 'email_verified'], profile: ['name', 'groups'] },
        cookies: { keys: ['a key of the test'] },
        features: { devInteractions: { enabled: false } },
        interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
        findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ ...claims, sub }) }),
        loadExistingGrant: async (context) => {
          const grant = new context.oidc.provider.Grant({ accountId: context.oidc.session!.accountId, clientId })
          grant.addOIDCScope('openid email profile')
          await grant.save()
          return grant
        },
        ...options,
      })
    },
    /** Stops responding until `serve` is called. */
    stop: () => provider = undefined,
    /**
     * Acts as a browser at the provider, starting at the address to which the grid redirected it. Returns the path and
     * query of the redirect back to the grid.
     */
    async wayBack(url: string): Promise<string> {
      const cookies = new Map<string, string>()
      for (let hops = 0; hops < 8 && url.startsWith(issuer); hops++) {
        const headers = { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') }
        const response = await fetch(url, { redirect: 'manual', headers })
        for (const cookie of response.headers.getSetCookie()) {
          const [, name, value] = cookie.match(/^([^=]+)=([^;]*)/)!
          cookies.set(name, value)
        }
        const next = response.headers.get('location')
        if (next === null) throw new Error(`The provider answers ${response.status}: ${await response.text()}`)
        url = new URL(next, url).href
      }
      const { pathname, search } = new URL(url)
      return pathname + search
    },
    close: closing(() =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      })
    ),
  }
}

/**
 * Begins to sign in. Returns the address to which the browser is redirected, or the page's status and text if there is
 * no redirect.
 */
export async function beginAt(one: Browser, id: string, query = ''): Promise<string> {
  const page = await one.open(`/sso/${id}${query}`)
  return linkOut(page) ?? `${page.status} ${page.text}`
}

/** Returns a page's link to another site. */
export function linkOut({ html }: Page): string | undefined {
  const href = html.match(/<a [^>]*href="(https?:[^"]+)"/)?.[1]
  return href === undefined ? undefined : unescapeHtml(href)
}

/** Signs in with the provider, as far as the grid permits. */
export async function signInBy(server: OidcServer, one: Browser, id: string, query = ''): Promise<Page> {
  return await one.open(await server.wayBack(await beginAt(one, id, query)))
}
