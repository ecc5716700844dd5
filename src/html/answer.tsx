/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { html } from 'hono/html'
import { pageScript, styleSheet } from './assets.ts'

export interface AnswerOptions {
  status?: number
  /** Where forms of this page may lead besides this origin: the consent page's redirect URI. Security: section 6.1. */
  formTarget?: string
}

/** A whole HTML document as a response; `title` is what tabs and screen readers say. */
export async function answer(
  { title, bodyClass, status = 200, formTarget }: AnswerOptions & { title: string; bodyClass: string },
  content: Child,
): Promise<Response> {
  const document = await (
    <html lang='en'>
      <head>
        <meta charset='utf-8' />
        <meta name='viewport' content='width=device-width, initial-scale=1' />
        <meta name='color-scheme' content='light dark' />
        <title>{title === 'agent-grid' ? title : `${title} · agent-grid`}</title>
        <link rel='icon' href={favicon} />
        <link rel='stylesheet' href={styleSheet.path} />
        <script src={pageScript.path} defer></script>
      </head>
      <body class={bodyClass}>
        <a class='skip' href='#content'>Skip to content</a>
        {content}
      </body>
    </html>
  )
  return new Response(html`<!doctype html>${document}`.toString(), { status, headers: headers(formTarget) })
}

/**
 * The headers of every HTML answer. Security: section 6.1.
 *
 * The referrer stays on this origin. With `no-referrer`, browsers send `Origin: null` with our own forms.
 * @see Fetch, "append a request Origin header"
 */
function headers(formTarget?: string): Record<string, string> {
  const formAction = formTarget === undefined ? "'self'" : `'self' ${policySource(formTarget)}`
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `form-action ${formAction}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ]
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy.join('; '),
    'X-Frame-Options': 'DENY',
    'Referrer-Policy': 'same-origin',
  }
}

/** What `form-action` must name so that a form may end at a redirect URI. */
export function policySource(uri: string): string {
  const { origin, protocol, hostname } = new URL(uri)
  // An application's own scheme, as in `cursor://…`, has no origin; a policy cannot name an IPv6 address.
  return origin === 'null' || hostname.startsWith('[') ? protocol : origin
}

const favicon = `data:image/svg+xml,${
  encodeURIComponent(
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24' fill='none' stroke='#0f8a65' stroke-width='2.4'>" +
      "<path d='M7 7h10v10H7zM7 7l10 10'/><g fill='#0f8a65' stroke='none'><circle cx='7' cy='7' r='3.4'/>" +
      "<circle cx='17' cy='7' r='3.4'/><circle cx='7' cy='17' r='3.4'/><circle cx='17' cy='17' r='3.4'/></g></svg>",
  )
}`
