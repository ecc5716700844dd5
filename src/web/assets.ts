import { type Asset, icon, pageScript, styleSheet } from '../html/assets.ts'
import { staticAnswer } from '../lib/http/static-answer.ts'

/** Answers a request for an asset. */
export interface ServedAsset {
  path: string
  answer(request: Request): Promise<Response>
}

/** The style sheet, the script and the icon of all pages. They are public and contain no user data. */
export const assets: ServedAsset[] = [styleSheet, pageScript, icon].map((asset) => ({
  path: asset.path,
  answer: staticAnswer(() => asResponse(asset)),
}))

/** Cached forever: when the content changes, so does the path. */
function asResponse({ type, text }: Asset): Response {
  return new Response(text, {
    headers: { 'Content-Type': type, 'Cache-Control': 'public, max-age=31536000, immutable' },
  })
}
