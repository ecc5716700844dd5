/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { html } from 'hono/html'
import type { Child } from 'hono/jsx'
import { icon, pageScript, styleSheet } from './assets.ts'
import { utc } from '../lib/time.ts'
import { withVisibleControls } from './bidi.tsx'
import { TimeZone } from './components.tsx'
import { Csrf } from './form.tsx'
import { withFingerprints } from './made-from.ts'

/** The path of the web app manifest, which lets users add the grid to their home screen. */
export const manifestPath = '/manifest.webmanifest'

/** Options of every page. `status` defaults to 200. */
export interface HtmlResponseOptions {
  status?: number
  /** The reader's time zone. Defaults to UTC. */
  timeZone?: string
  /** The CSRF token, for pages with forms. */
  csrf?: string
  /** Paths of scripts in addition to the common one. */
  scripts?: readonly string[]
  /** Paths of style sheets in addition to the common one. */
  styles?: readonly string[]
  /** An additional form target for this page: the redirect URI on the consent page. See docs/security.md, "Pages". */
  formTarget?: string
}

/** Creates a response with a complete HTML document. `title` goes into `<title>`, followed by the product name. */
export async function htmlResponse(
  { title, bodyClass, status = 200, timeZone = utc, csrf, scripts = [], styles = [], formTarget }:
    & HtmlResponseOptions
    & {
      title: string
      bodyClass: string
    },
  content: Child,
): Promise<Response> {
  const document = await (
    <html lang='en'>
      <head>
        <meta charset='utf-8' />
        <meta name='viewport' content='width=device-width, initial-scale=1' />
        <meta name='color-scheme' content='light dark' />
        <title>{title === 'agent-grid' ? title : `${title} · agent-grid`}</title>
        <link rel='icon' href={icon.path} />
        <link rel='manifest' href={manifestPath} />
        {[styleSheet.path, ...styles].map((path) => <link rel='stylesheet' href={path} />)}
        {[pageScript.path, ...scripts].map((path) => <script src={path} defer></script>)}
      </head>
      <body class={bodyClass}>
        <a class='skip' href='#content'>Skip to content</a>
        <TimeZone.Provider value={timeZone}>
          <Csrf.Provider value={csrf}>{content}</Csrf.Provider>
        </TimeZone.Provider>
      </body>
    </html>
  )
  const text = withVisibleControls(html`<!doctype html>${document}`.toString())
  return new Response(withFingerprints(text.replace(emptyShape, '/>')), {
    status,
    headers: headers(formTarget),
  })
}

export async function htmlFragment(
  { timeZone, csrf }: Required<Pick<HtmlResponseOptions, 'timeZone'>> & Pick<HtmlResponseOptions, 'csrf'>,
  content: Child,
): Promise<Response> {
  const elements = await (
    <TimeZone.Provider value={timeZone}>
      <Csrf.Provider value={csrf}>{content}</Csrf.Provider>
    </TimeZone.Provider>
  )
  return new Response(withVisibleControls(elements.toString()), { headers: headers() })
}

/**
 * The headers of every HTML response. See docs/security.md, "Pages".
 *
 * `Referrer-Policy` is not `no-referrer`, because browsers would then send `Origin: null` with the grid's own forms.
 * @see Fetch, "append a request Origin header"
 */
function headers(formTarget?: string): Record<string, string> {
  const formAction = formTarget === undefined ? "'self'" : `'self' ${policySource(formTarget)}`
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "manifest-src 'self'",
    "worker-src 'self'",
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

/** Returns the source expression that permits a redirect URI in the `form-action` directive. */
export function policySource(uri: string): string {
  const { origin, protocol, hostname } = new URL(uri)
  // Private-use URIs have no origin, and a policy cannot contain an IPv6 address. For both, permit only the scheme.
  return origin === 'null' || hostname.startsWith('[') ? protocol : origin
}

/** Matches closing tags of empty SVG elements, which can be self-closing. User text contains no `<`. */
const emptyShape = /><\/(?:path|rect|circle|use)>/g
