/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { html } from 'hono/html'
import { createHash } from 'node:crypto'
import { styles } from './styles.ts'

/** Pages carry no script and one style, allowed by its hash. Security: section 6.1. */
const policy = `default-src 'none'; style-src 'sha256-${
  createHash('sha256').update(styles).digest('base64')
}'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`

/** A whole HTML page as a response. */
export async function page(title: string, content: Child, status = 200): Promise<Response> {
  const body = await (
    <html lang='en'>
      <head>
        <meta charset='utf-8' />
        <meta name='viewport' content='width=device-width, initial-scale=1' />
        <meta name='color-scheme' content='light dark' />
        <title>{title}</title>
        <style>{styles}</style>
      </head>
      <body>
        <main>{content}</main>
      </body>
    </html>
  )
  return new Response(html`<!doctype html>${body}`.toString(), {
    status,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': policy,
      'X-Frame-Options': 'DENY',
    },
  })
}
