/** Static files: assets of pages, and files that browsers request by well-known names. */
import { type Asset, icon, pageScript, styleSheet } from '../html/assets.ts'
import { manifestPath } from '../html/html-response.tsx'
import { staticAnswer } from '../lib/http/static-answer.ts'

export interface ServedAsset {
  path: string
  answer(request: Request): Promise<Response>
}

/** The style sheet, script and icon that all pages share. They are public and contain no user data. */
export const assets = [styleSheet, pageScript, icon].map(servedAsset)

/** Cached forever, because the path changes with the content. */
export function servedAsset({ path, type, text }: Asset): ServedAsset {
  const headers = { 'Content-Type': type, 'Cache-Control': 'public, max-age=31536000, immutable' }
  return { path, answer: staticAnswer(() => new Response(text, { headers })) }
}

/** The web app manifest. iPhones and iPads need it for notifications. @see W3C, Web Application Manifest */
export const manifest: ServedAsset = {
  path: manifestPath,
  answer: staticAnswer(() =>
    new Response(
      JSON.stringify({
        name: 'agent-grid',
        short_name: 'agent-grid',
        start_url: '/',
        scope: '/',
        display: 'standalone',
        icons: [{ src: icon.path, type: 'image/svg+xml', sizes: 'any' }],
      }),
      { headers: { 'Content-Type': 'application/manifest+json', 'Cache-Control': 'no-cache' } },
    )
  ),
}
