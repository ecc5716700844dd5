/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { type Child, createContext, useContext } from 'hono/jsx'
import { Posted, type PostedForm } from './fields.tsx'
import { madeFromField } from './made-from.ts'

/** Around a page: the CSRF token of its session. See docs/security.md, "Pages". */
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
  /** It has a field for a file. */
  hasFile?: boolean
  /** Its fields hold existing values, so it carries their fingerprint. */
  changes?: boolean
  /** Replaces the values of the fields. */
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

/** A form of one button. `fields` are submitted as hidden fields. */
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
 * A POST form that asks the browser for a passkey and sends its answer in the field `passkey`. `options` is the JSON of
 * `navigator.credentials.create` or `get`. `isStarted` asks as soon as the page appears. It needs script.
 */
export function PasskeyForm(
  { action, use, options, isStarted, error, children }: {
    action: string
    use: 'create' | 'get'
    options: string
    isStarted?: boolean
    /** Why the submitted answer was rejected. */
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

/** A GET form: its values become the query of the next page. */
export function QueryForm({ action, children }: { action: string; children: Child }) {
  return <form method='get' action={action} class='line query'>{children}</form>
}

/** The field of forms that are answered with a file. */
export const downloadsField = 'downloads'

interface ButtonProps {
  children: Child
  /** `plain danger`: an action that cannot be undone, among other actions. */
  kind?: 'main-action' | 'plain' | 'danger' | 'plain danger' | 'quiet'
  /** Submitted with the form, to tell several buttons apart. */
  name?: string
  value?: string
  isWhole?: boolean
  isSmall?: boolean
  /** Disabled for 500 ms after the page appears, against clickjacking. See docs/security.md, "OAuth". */
  waits?: boolean
  /** Hidden until a value in its form changes. Without script it is always visible. */
  whenChanged?: boolean
  /** The form answers with a file, so the page stays. The text then stands beside the button. */
  downloads?: string
  /** Sends a form by its id to a different address, even if required fields are empty. */
  sends?: { form: string; to: string }
  /** Shown when the pointer rests on it. */
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

/** The buttons below a form: the one that sends it, and `cancel`, the way back. */
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
