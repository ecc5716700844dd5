/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { type Child, createContext, useContext } from 'hono/jsx'
import { Posted, type PostedForm } from './fields.tsx'
import { madeFromField } from './made-from.ts'

/** The CSRF token of the page's session. See docs/security.md, "Pages". */
export const Csrf = createContext<string | undefined>(undefined)

export function CsrfField() {
  const token = useContext(Csrf)
  if (token === undefined) throw new Error('A page with a form needs the option `csrf`.')
  return <input type='hidden' name='csrf' value={token} />
}

export interface FormProps {
  action: string
  id?: string
  /** Puts the fields and the button in one row. */
  isLine?: boolean
  /** Whether the form has a file field. */
  hasFile?: boolean
  /** Whether the fields hold existing values. The form then includes their fingerprint. */
  changes?: boolean
  /** Values that override the fields' values. */
  posted?: PostedForm
  children: Child
}

export function Form({ action, id, isLine, hasFile, changes, posted, children }: FormProps) {
  const enctype = hasFile ? 'multipart/form-data' : undefined
  return (
    <form method='post' action={action} id={id} class={isLine ? 'line' : undefined} enctype={enctype}>
      <CsrfField />
      {changes && <input type='hidden' name={madeFromField} value={posted?.values.get(madeFromField) ?? ''} />}
      <Posted.Provider value={posted}>{children}</Posted.Provider>
    </form>
  )
}

/** A form with a single button. `fields` are submitted as hidden fields. */
export function ButtonForm(
  { action, fields = {}, ...button }: ButtonProps & { action: string; fields?: Record<string, string> },
) {
  return (
    <Form action={action}>
      <HiddenFields fields={fields} />
      <SubmitButton {...button} />
    </Form>
  )
}

export function HiddenFields({ fields }: { fields: Record<string, string> }) {
  return <>{Object.entries(fields).map(([name, value]) => <input type='hidden' name={name} value={value} />)}</>
}

/**
 * A POST form that asks the browser for a passkey and sends the response in the field `passkey`. `options` is the JSON
 * for `navigator.credentials.create` or `get`. With `isStarted`, it asks as soon as the page appears. Requires script.
 */
export function PasskeyForm(
  { action, use, options, isStarted, error, children }: {
    action: string
    use: 'create' | 'get'
    options: string
    isStarted?: boolean
    /** Why the submitted response was rejected. */
    error?: string
    children: Child
  },
) {
  const id = `passkey-${use}-error`
  return (
    <>
      <form
        method='post'
        action={action}
        data-passkey={use}
        data-options={options}
        data-starts={isStarted ? '' : undefined}
        data-error={id}
        data-needs-script
      >
        <CsrfField />
        <input type='hidden' name='passkey' value='' />
        {children}
        <p class='error' id={id} role='alert' hidden={!error}>{error}</p>
      </form>
      <noscript>
        <p class='soft'>Passkeys need JavaScript.</p>
      </noscript>
    </>
  )
}

/** A GET form. Its values become the query of the next page. */
export function QueryForm({ action, children }: { action: string; children: Child }) {
  return <form method='get' action={action} class='line query'>{children}</form>
}

/** The name of a hidden field in forms whose response is a file. */
export const downloadsField = 'downloads'

interface ButtonProps {
  children: Child
  /** The button's style. `plain danger` is for an irreversible action among other actions. */
  kind?: 'main-action' | 'plain' | 'danger' | 'plain danger' | 'quiet'
  /** The field name that the button submits, which distinguishes it from other buttons. */
  name?: string
  value?: string
  isWhole?: boolean
  isSmall?: boolean
  /** Disables the button for 500 ms after the page appears, against clickjacking. See docs/security.md, "OAuth". */
  waits?: boolean
  /** Hides the button until a value in the form changes. Without script, it is always visible. */
  whenChanged?: boolean
  /** The text shown next to the button after a click, if the form's response is a file and the page stays open. */
  downloads?: string
  /** Submits the form with this id to a different address, even if required fields are empty. */
  sends?: { form: string; to: string }
  /** The tooltip. */
  title?: string
}

export function SubmitButton(
  { children, kind = 'main-action', name, value, isWhole, isSmall, waits, whenChanged, downloads, sends, title }:
    ButtonProps,
) {
  const button = (
    <button
      type='submit'
      title={title}
      class={buttonClass(kind, { isWhole, isSmall })}
      name={name}
      value={value}
      form={sends?.form}
      formaction={sends?.to}
      formnovalidate={sends !== undefined}
      data-wait={waits ? '' : undefined}
      data-when-changed={whenChanged ? '' : undefined}
      data-downloads={downloads}
    >
      {children}
    </button>
  )
  return downloads === undefined ? button : (
    <>
      <HiddenFields fields={{ [downloadsField]: 'yes' }} />
      {button}
    </>
  )
}

/** The buttons below a form: submit and, if `cancel` is set, a link back. */
export function SubmitRow({ cancel, ...button }: ButtonProps & { cancel?: string }) {
  return (
    <div class='row'>
      <SubmitButton {...button} />
      {cancel && <ButtonLink href={cancel} kind='quiet'>Cancel</ButtonLink>}
    </div>
  )
}

export function ButtonLink(
  { href, children, kind = 'plain', isSmall, isWhole }: ButtonProps & { href: string },
) {
  return <a class={buttonClass(kind, { isSmall, isWhole })} href={href}>{children}</a>
}

export function buttonClass(kind: string, { isWhole, isSmall }: { isWhole?: boolean; isSmall?: boolean } = {}) {
  return ['button', kind === 'plain' ? '' : kind, isWhole && 'whole', isSmall && 'small'].filter(Boolean).join(' ')
}
