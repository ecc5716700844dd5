/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { encodeQR } from 'qr'
import { CsrfField, HiddenFields, SubmitRow } from './form.tsx'
import { Icon, type IconName } from './icons.tsx'

/** Text with a copy button, such as a command, a configuration or a key. `wraps` breaks long lines. */
export function CopyBlock({ id, label, text, wraps }: { id: string; label: string; text: string; wraps?: boolean }) {
  return (
    <figure class={wraps ? 'copy wrap' : 'copy'}>
      <figcaption>
        <span>{label}</span>
        <button type='button' class='button quiet small' data-copy={id} data-needs-script>
          <Icon name='copy' size={15} />
          <span data-label aria-live='polite'>Copy</span>
          <span class='unseen'>{label}</span>
        </button>
      </figcaption>
      <pre tabindex={0} aria-label={label}><code id={id}>{text}</code></pre>
    </figure>
  )
}

/** A short text with a copy button, such as an id. `label` names it for screen readers. */
export function CopyText({ id, label, text }: { id: string; label: string; text: string }) {
  return (
    <span class='copy-text'>
      <code id={id} title={text}>{text}</code>
      <button type='button' class='button quiet icon small' data-copy={id} data-needs-script>
        <Icon name='copy' size={14} />
        <span class='unseen' data-label aria-live='polite'>Copy</span>
        <span class='unseen'>{label}</span>
      </button>
    </span>
  )
}

/**
 * Shows a new key once: in a modal with script, otherwise in the page. It stays open until the user closes it, and
 * Escape asks for confirmation. `children` explains how to use the key.
 */
export function SecretDialog(
  { title, label, secret, children }: { title: string; label: string; secret: string; children?: Child },
) {
  return (
    <dialog id='secret' open data-modal data-asks='secret-leave' aria-labelledby='secret-title'>
      <div class='dialog-head'>
        <h2 id='secret-title'>{title}</h2>
      </div>
      <p>Copy it now. It is shown only once and cannot be retrieved later.</p>
      <CopyBlock id='secret-text' label={label} text={secret} wraps />
      {children}
      <form method='dialog'>
        <SubmitRow>I have copied it</SubmitRow>
      </form>
      <div class='stack tight' id='secret-leave' role='alert' hidden>
        <p>
          <strong>Close without a copy?</strong> It cannot be shown again.
        </p>
        <div class='row'>
          <button type='button' class='button' data-stays>Keep it open</button>
          <button type='button' class='button plain danger' data-leaves>Close</button>
        </div>
      </div>
    </dialog>
  )
}

/** A delete button with a confirmation step that works without script. `fields` are submitted as hidden fields. */
export function ConfirmDelete(
  { action, label = 'Delete', question, fields = {}, icon = 'bin', isSmall }: {
    action: string
    label?: string
    question: Child
    fields?: Record<string, string>
    icon?: IconName
    isSmall?: boolean
  },
) {
  return (
    <details class='confirm' data-menu>
      <summary class={isSmall ? 'button quiet danger small' : 'button plain danger'}>
        <Icon name={icon} size={16} />
        {label}…
      </summary>
      <form class='list' method='post' action={action}>
        <CsrfField />
        <HiddenFields fields={fields} />
        <p>{question}</p>
        <SubmitRow kind='danger'>{label}</SubmitRow>
      </form>
    </details>
  )
}

/** A text as a QR code, always dark on light, as scanners expect. `label` names it for screen readers. */
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
