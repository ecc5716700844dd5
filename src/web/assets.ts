/** Static files: files that pages load, and files that browsers request by name. */
import { type Asset, icon, pageScript, styleSheet } from '../html/assets.ts'
import { manifestPath } from '../html/html-response.tsx'
import { staticAnswer } from '../lib/http/static-answer.ts'

export interface ServedAsset {
  path: string
  answer(request: Request): Promise<Response>
}

/** The style sheet, the script and the icon of all pages. They are public and contain no user data. */
export const assets = [styleSheet, pageScript, icon].map(servedAsset)

/** Cached forever: when the content changes, so does the path. */
export function servedAsset({ path, type, text }: Asset): ServedAsset {
  const headers = { 'Content-Type': type, 'Cache-Control': 'public, max-age=31536000, immutable' }
  return { path, answer: staticAnswer(() => new Response(text, { headers })) }
}

/** The manifest of the application. On an iPhone or iPad notifications need it. @see W3C, Web Application Manifest */
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
