import { type Asset, pageScript, styleSheet } from '../html/assets.ts'

/** The style sheet and the script of all pages. They are public and contain no user data. */
export const assets: Asset[] = [styleSheet, pageScript]

/** Cached forever: when the content changes, so does the path. */
export function serveAsset({ type, text }: Asset): Response {
  return new Response(text, {
    headers: { 'Content-Type': type, 'Cache-Control': 'public, max-age=31536000, immutable' },
  })
}
