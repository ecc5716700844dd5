/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { CsrfField, SubmitButton, TextInput } from './form.tsx'
import { Icon, type IconName } from './icons.tsx'

/** Text to take along: a command, a configuration, a key. `wraps` for long lines without breaks. */
export function CopyBlock({ id, label, text, wraps }: { id: string; label: string; text: string; wraps?: boolean }) {
  return (
    <figure class={wraps ? 'copy wrap' : 'copy'}>
      <figcaption>
        <span>{label}</span>
        <CopyButton id={id} label={label} />
      </figcaption>
      <pre tabindex={0} aria-label={label}><code id={id}>{text}</code></pre>
    </figure>
  )
}

/** A short text that nobody reads and some take along, such as an id. `label` says what it is. */
export function CopyText({ id, label, text }: { id: string; label: string; text: string }) {
  return (
    <span class='copy-text'>
      <code id={id}>{text}</code>
      <button type='button' class='button quiet icon small' data-copy={id} data-needs-script>
        <Icon name='copy' size={14} />
        <span class='unseen' data-label aria-live='polite'>Copy</span>
        <span class='unseen'>{label}</span>
      </button>
    </span>
  )
}

/** Copies the text of the element `id`. Not there without script. */
export function CopyButton({ id, label }: { id: string; label: string }) {
  return (
    <button type='button' class='button quiet small' data-copy={id} data-needs-script>
      <Icon name='copy' size={15} />
      <span data-label aria-live='polite'>Copy</span>
      <span class='unseen'>{label}</span>
    </button>
  )
}

/**
 * A dialog. `isOpen` shows it at once, modal with script and in the page without; otherwise a `ButtonLink`
 * with `href='#id' opens='id'` opens it.
 */
export function Dialog(
  { id, title, isOpen, children }: { id: string; title: string; isOpen?: boolean; children: Child },
) {
  return (
    <dialog id={id} open={isOpen} data-modal aria-labelledby={`${id}-title`}>
      <div class='dialog-head'>
        <h2 id={`${id}-title`}>{title}</h2>
        {!isOpen && (
          <a class='button quiet icon small' href='#' data-closes aria-label='Close'>
            <Icon name='close' />
          </a>
        )}
      </div>
      {children}
    </dialog>
  )
}

/** A key in the moment of its making: shown once, closed by hand. `children` is what to do with it. */
export function Secret(
  { title, label, secret, children }: { title: string; label: string; secret: string; children?: Child },
) {
  return (
    <Dialog id='secret' title={title} isOpen>
      <p>Copy it now. It is shown this once and cannot be looked up again.</p>
      <CopyBlock id='secret-text' label={label} text={secret} wraps />
      {children}
      <form method='dialog'>
        <div class='row'>
          <SubmitButton>I have copied it</SubmitButton>
        </div>
      </form>
    </Dialog>
  )
}

/**
 * Deleting in two steps, without script: the first opens the question, the second does it.
 * `typed` is a word that has to be written before; `fields` are sent along.
 */
export function ConfirmDelete(
  { action, csrf, label = 'Delete', question, typed, fields = {}, id = 'confirm', icon = 'bin', isSmall }: {
    action: string
    csrf: string
    label?: string
    question: Child
    typed?: string
    fields?: Record<string, string>
    id?: string
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
        <CsrfField token={csrf} />
        {Object.entries(fields).map(([name, value]) => <input type='hidden' name={name} value={value} />)}
        <p>{question}</p>
        {typed && (
          <TextInput
            name='confirmation'
            id={`${id}-typed`}
            label={`Write ${typed} to confirm`}
            pattern={literally(typed)}
            isRequired
            isMono
          />
        )}
        <div class='row'>
          <SubmitButton kind='danger'>{label}</SubmitButton>
        </div>
      </form>
    </details>
  )
}

/** As a pattern of HTML, which is anchored by itself and refuses needless escapes. */
function literally(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}
