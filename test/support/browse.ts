/** A simple in-process browser. It keeps cookies, follows redirects and submits forms. */
import { expect } from 'vitest'

/** A page as tests see it. */
export interface Page {
  status: number
  headers: Headers
  /** The page's path and query. */
  at: string
  html: string
  /** The page's text without tags. */
  text: string
}

export type Browser = ReturnType<typeof browser>

/** The parts of a grid that a browser needs. */
export interface Visited {
  deps: { config: { appUrl: string } }
  request(path: string, init: RequestInit, address: string): Promise<Response>
}

/** Creates a browser without a session. Its requests come from the client address `address`. */
export function browser(grid: Visited, address = '203.0.113.9') {
  const cookies = new Map<string, string>()
  const origin = grid.deps.config.appUrl

  async function request(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers)
    if (cookies.size > 0) headers.set('Cookie', [...cookies].map(([name, value]) => `${name}=${value}`).join('; '))
    const response = await grid.request(path, { ...init, headers }, address)
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = cookie.match(/^([^=]+)=([^;]*)/)!
      if (/max-age=0/i.test(cookie)) cookies.delete(name)
      else cookies.set(name, value)
    }
    return response
  }

  /** Follows redirects. `sent` is the request that `response` answers. A 307 redirect repeats `sent` with its body. */
  async function settle(response: Response, at: string, sent?: RequestInit): Promise<Page> {
    for (let hops = 0; [303, 307].includes(response.status) && hops < 8; hops++) {
      at = response.headers.get('location')!
      if (response.status === 303) sent = undefined
      response = await request(at, sent)
    }
    const html = await response.text()
    return { status: response.status, headers: response.headers, at, html, text: textOf(html) }
  }

  const open = async (path: string) => await settle(await request(path), path)

  /** Posts a form as a browser does, with an Origin. `headers` may replace the Origin, or omit it with `undefined`. */
  async function post(
    path: string,
    fields: Record<string, string> | [string, string][],
    headers: Record<string, string | undefined> = {},
  ): Promise<Page> {
    const all = { 'Origin': origin, 'Content-Type': 'application/x-www-form-urlencoded', ...headers }
    const sent = {
      method: 'POST',
      headers: Object.entries(all).filter((header): header is [string, string] => header[1] !== undefined),
      body: new URLSearchParams(fields).toString(),
    }
    return await settle(await request(path, sent), path, sent)
  }

  return {
    cookies,
    request,
    open,
    post,
    /** Opens a page and submits the form that posts to `action` (default: the page), including hidden fields. */
    async submit(path: string, fields: Record<string, string> | [string, string][], action = path): Promise<Page> {
      return await this.send(await open(path), fields, action)
    },
    /** Submits a form of a page that is already open. */
    async send(page: Page, fields: Record<string, string> | [string, string][], action: string): Promise<Page> {
      const form = formOf(page.html, action)
      expect(form, `${page.at} has no form that posts to ${action}: ${page.text}`).toBeDefined()
      const entries = Array.isArray(fields) ? fields : Object.entries(fields)
      const names = new Set(entries.map(([name]) => name))
      return await post(action, [...hiddenFields(form!).filter(([name]) => !names.has(name)), ...entries])
    },
    async signIn(email: string, password: string): Promise<Page> {
      return await this.submit('/sign-in', { email, password })
    },
  }
}

function formOf(html: string, action: string): string | undefined {
  const forms = html.match(/<form[\s\S]*?<\/form>/g) ?? []
  return forms.filter((form) => /^<form[^>]*method="post"/.test(form)).find((form) =>
    unescapeHtml(form.match(/action="([^"]*)"/)?.[1] ?? '') === action
  )
}

function hiddenFields(form: string): [string, string][] {
  return (form.match(/<input[^>]*type="hidden"[^>]*>/g) ?? []).map((input) => [
    unescapeHtml(input.match(/name="([^"]*)"/)![1]),
    unescapeHtml(input.match(/value="([^"]*)"/)?.[1] ?? ''),
  ])
}

function textOf(html: string): string {
  // `<bdi>` is removed first, because it does not separate words.
  const body = html.replace(/<(style|script|title)[\s\S]*?<\/\1>/g, '').replace(/<\/?bdi>/g, '')
  return unescapeHtml(body.replace(/<[^>]+>/g, ' ')).replace(/\s+/g, ' ').trim()
}

export function unescapeHtml(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
}
