/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { encodeQR } from 'qr'

/** A text as a QR code, always dark on light: readers expect that. `label` names it for screen readers. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const rows = encodeQR(text, 'raw', { ecc: 'medium', border: 4 })
  const dark = rows.flatMap((row, y) => row.flatMap((isDark, x) => isDark ? [`M${x} ${y}h1v1h-1z`] : []))
  return (
    <svg class='qr' viewBox={`0 0 ${rows.length} ${rows.length}`} role='img' aria-label={label}>
      <rect width='100%' height='100%' fill='#fff' />
      <path d={dark.join('')} fill='#000' shape-rendering='crispEdges' />
    </svg>
  )
}
