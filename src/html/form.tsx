/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { type Child, createContext, useContext } from 'hono/jsx'
import { Icon } from './icons.tsx'

/** Names of fields that carry what must never be sent back to a browser. A form that waits drops them. */
export const secretFields = ['password', 'current', 'token', 'remoteToken'] as const

/** What was posted to a form that is shown again, and why it was refused. Its fields show both. */
interface PostedForm {
  values: URLSearchParams
  errorOf(name: string): string | undefined
}

const Posted = createContext<PostedForm | undefined>(undefined)

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
  /** Replaces the values of the fields. */
  posted?: PostedForm
  children: Child
}

export function Form({ action, id, isLine, posted, children }: FormProps) {
  return (
    <form method='post' action={action} id={id} class={isLine ? 'line' : undefined}>
      <CsrfField />
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

/** Properties of every field. `id` defaults to `name`; set it when a page has two fields of the same name. */
interface FieldProps {
  name: string
  label: string
  id?: string
  /** What to enter. */
  hint?: Child
  /** Why the submitted value was rejected. */
  error?: string
  isRequired?: boolean
  /** Adds "(optional)" to the label. */
  isOptional?: boolean
}

/** Label, hint and error around one control. The control takes `fieldAttributes(field)` as its attributes. */
function Field({ field, children }: { field: FieldProps; children: Child }) {
  const { label, hint, isOptional } = field
  const id = idOf(field)
  const error = errorOf(field)
  return (
    <div class='field'>
      <label for={id}>
        {label}
        {isOptional && <span class='optional'>(optional)</span>}
      </label>
      {hint && <p class='hint' id={`${id}-hint`}>{hint}</p>}
      {children}
      {error && <ErrorText id={`${id}-error`} text={error} />}
    </div>
  )
}

/** The attributes that connect a control to its label, hint and error. */
function fieldAttributes(field: FieldProps) {
  const id = idOf(field)
  const error = errorOf(field)
  const describedBy = [field.hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ')
  return {
    id,
    name: field.name,
    required: field.isRequired,
    'aria-describedby': describedBy || undefined,
    'aria-invalid': error ? 'true' : undefined,
  }
}

function errorOf({ name, error }: FieldProps): string | undefined {
  return error ?? useContext(Posted)?.errorOf(name)
}

function valueOf({ name, value }: { name: string; value?: string }): string | undefined {
  return useContext(Posted)?.values.get(name) ?? value
}

interface TextInputProps extends FieldProps {
  value?: string
  type?: 'text' | 'email' | 'url' | 'search' | 'number' | 'date'
  placeholder?: string
  /** For numbers. */
  min?: number
  max?: number
  /** The step of a number; `any` allows fractions. */
  step?: number | 'any'
  /** Text shown in front of the value, such as `@`. */
  before?: string
  /** A regular expression. Describe it in `hint`. */
  pattern?: string
  /** In characters. A browser only stops what is too long in any case; the verb counts. */
  maxLength?: number
  autocomplete?: string
  isMono?: boolean
  isFocused?: boolean
  /** Values that the browser offers. Others can be typed. `id` is unique on the page. */
  list?: { id: string; values: string[] }
}

export function TextInput(field: TextInputProps) {
  const input = (
    <input
      {...fieldAttributes(field)}
      class={field.isMono ? 'input mono' : 'input'}
      type={field.type ?? 'text'}
      value={valueOf(field)}
      placeholder={field.placeholder}
      pattern={field.pattern}
      min={field.min}
      max={field.max}
      step={field.step}
      maxlength={unitsOf(field.maxLength)}
      autocomplete={field.autocomplete ?? 'off'}
      spellcheck={!field.isMono}
      autofocus={field.isFocused}
      list={field.list?.id}
    />
  )
  return (
    <Field field={field}>
      {field.before
        ? (
          <div class='affixed'>
            <span class='before' aria-hidden='true'>{field.before}</span>
            {input}
          </div>
        )
        : input}
      {field.list && (
        <datalist id={field.list.id}>{field.list.values.map((value) => <option value={value}></option>)}</datalist>
      )}
    </Field>
  )
}

/** The length that a browser may stop at: it counts UTF-16 code units (HTML, "maxlength"), at most two a character. */
function unitsOf(characters: number | undefined): number | undefined {
  return characters && 2 * characters
}

/** `autocomplete` tells password managers which password to fill in. The page never contains the value. */
export function PasswordInput(
  field: FieldProps & { name: typeof secretFields[number]; autocomplete: 'current-password' | 'new-password' },
) {
  const id = idOf(field)
  return (
    <Field field={field}>
      <div class='affix'>
        <input {...fieldAttributes(field)} class='input' type='password' autocomplete={field.autocomplete} />
        <button
          type='button'
          class='button'
          data-shows={id}
          data-needs-script
          aria-pressed='false'
          aria-label={`Show ${field.label.toLowerCase()}`}
        >
          Show
        </button>
      </div>
    </Field>
  )
}

export function TextArea(
  field: FieldProps & {
    value?: string
    rows?: number
    maxLength?: number
    isMono?: boolean
    placeholder?: string
    /** The id of the form that it belongs to, if it is outside of it. */
    inForm?: string
    /** Keeps what is typed in the browser under this name until it is sent. Ctrl+Enter sends it. */
    draft?: string
  },
) {
  return (
    <Field field={field}>
      <textarea
        {...fieldAttributes(field)}
        form={field.inForm}
        data-draft={field.draft}
        class={field.isMono ? 'input mono' : 'input'}
        rows={field.rows ?? 4}
        maxlength={unitsOf(field.maxLength)}
        placeholder={field.placeholder}
        spellcheck={!field.isMono}
      >
        {valueOf(field)}
      </textarea>
    </Field>
  )
}

/** An option of a select, a radio group or a checkbox group. */
export interface FieldOption {
  value: string
  title: string
  hint?: Child
}

export function Select(field: FieldProps & { options: FieldOption[]; value?: string }) {
  return (
    <Field field={field}>
      <SelectControl {...field} />
    </Field>
  )
}

/** A select in a cell of a table, whose column is its visible label. */
export function CellSelect(field: FieldProps & { options: FieldOption[]; value?: string }) {
  return <SelectControl {...field} isNamed />
}

function SelectControl(field: FieldProps & { options: FieldOption[]; value?: string; isNamed?: boolean }) {
  const selected = valueOf(field) ?? ''
  return (
    <select {...fieldAttributes(field)} class='input' aria-label={field.isNamed ? field.label : undefined}>
      {field.options.map(({ value, title }) => <option value={value} selected={value === selected}>{title}</option>)}
    </select>
  )
}

/** Submitted as `value` (default `on`) when checked, and not at all otherwise. */
export function Checkbox(
  { name, label, hint, value, isChecked, id = name }: {
    name: string
    label: Child
    hint?: Child
    value?: string
    isChecked?: boolean
    id?: string
  },
) {
  return (
    <label class='choice'>
      <input
        type='checkbox'
        id={id}
        name={name}
        value={value}
        checked={useContext(Posted)?.values.has(name) ?? isChecked}
        aria-describedby={hint ? `${id}-hint` : undefined}
      />
      <span>{label}</span>
      {hint && <span class='hint' id={`${id}-hint`}>{hint}</span>}
    </label>
  )
}

/** Radio buttons, each with an optional hint. `isMultiple` makes them checkboxes of one name. */
export function ChoiceList(
  field: FieldProps & { options: FieldOption[]; values?: string[]; isMultiple?: boolean; isCards?: boolean },
) {
  const id = idOf(field)
  const { isMultiple } = field
  const posted = useContext(Posted)?.values
  const values = posted && (isMultiple || posted.has(field.name)) ? posted.getAll(field.name) : field.values ?? []
  const error = errorOf(field)
  return (
    <fieldset
      class={field.isCards ? 'choices cards' : 'choices'}
      aria-describedby={fieldAttributes(field)['aria-describedby']}
    >
      <legend>
        {field.label}
        {field.isOptional && <span class='optional'>(optional)</span>}
      </legend>
      {field.hint && <p class='hint' id={`${id}-hint`}>{field.hint}</p>}
      {field.options.map(({ value, title, hint }) => (
        <label class='choice'>
          <input
            type={isMultiple ? 'checkbox' : 'radio'}
            name={field.name}
            value={value}
            checked={values.includes(value)}
            required={!isMultiple && field.isRequired}
          />
          <span>{title}</span>
          {hint && <span class='hint'>{hint}</span>}
        </label>
      ))}
      {error && <ErrorText id={`${id}-error`} text={error} />}
    </fieldset>
  )
}

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
  /** Sends a form by its id to another place than its own, also while required fields are empty. */
  sends?: { form: string; to: string }
}

export function SubmitButton(
  { children, kind = 'main-action', name, value, isWhole, isSmall, waits, whenChanged, sends }: ButtonProps,
) {
  return (
    <button
      type='submit'
      class={buttonClass(kind, { isWhole, isSmall })}
      name={name}
      value={value}
      form={sends?.form}
      formaction={sends?.to}
      formnovalidate={sends !== undefined}
      data-wait={waits ? '' : undefined}
      data-when-changed={whenChanged ? '' : undefined}
    >
      {children}
    </button>
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

function ErrorText({ id, text }: { id: string; text: string }) {
  return (
    <p class='error' id={id}>
      <Icon name='warning' size={14} />
      <span>{text}</span>
    </p>
  )
}

function idOf({ id, name }: FieldProps): string {
  return id ?? name
}
