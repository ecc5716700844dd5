import { type Asset, pageScript, styleSheet } from '../html/assets.ts'

/** What pages load beside themselves: the style sheet and the script. Public, as they hold nothing of anybody. */
export const assets: Asset[] = [styleSheet, pageScript]

/** Browsers ask once: another content has another path. */
export function serveAsset({ type, text }: Asset): Response {
  return new Response(text, {
    headers: { 'Content-Type': type, 'Cache-Control': 'public, max-age=31536000, immutable' },
  })
}
