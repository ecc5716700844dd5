/** Applies the colour scheme chosen in this browser to every page. */
import type { Context, Next } from 'hono'
import { cookieOf } from '../lib/http/cookies.ts'

/** The colour schemes. `system` follows the device. */
export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

/** Name of the cookie that stores the theme. */
export const themeCookie = 'grid-theme'

export function themeOf(request: Request): Theme {
  return themes.find((theme) => theme === cookieOf(request, themeCookie)) ?? 'system'
}

/** Applies the chosen theme to every page, including error pages and pages without a session. */
export async function inChosenTheme(c: Context, next: Next): Promise<void> {
  await next()
  const theme = themeOf(c.req.raw)
  if (theme === 'system' || !isPage(c.res.headers)) return
  const text = (await c.res.text())
    .replace('<html lang="en"', `$& data-theme="${theme}"`)
    .replace('<meta name="color-scheme" content="light dark"', `<meta name="color-scheme" content="${theme}"`)
  c.res = new Response(text, c.res)
}

/** Whether the response is a page of the grid. Files in messages can be HTML too, but are sent unchanged. */
function isPage(headers: Headers): boolean {
  return headers.get('Content-Type')?.startsWith('text/html') === true && !headers.has('Content-Disposition')
}
