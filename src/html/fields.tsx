/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { type Child, createContext, useContext } from 'hono/jsx'
import { Icon } from './icons.tsx'

/** Fields whose values are never sent back to a browser. A form that waits for a sign-in omits them. */
export const secretFields = ['password', 'current', 'token', 'remoteToken', 'signingSecret', 'clientSecret'] as const

/** The values and errors of a form that is shown again. The form's fields show both. */
export interface PostedForm {
  values: URLSearchParams
  errorOf(name: string): string | undefined
}

/** The values and errors that the fields of a form show again. */
export const Posted = createContext<PostedForm | undefined>(undefined)

/** Properties of every field. `id` defaults to `name`; set it if a page has two fields of the same name. */
interface FieldProps {
  name: string
  label: string
  id?: string
  /** Describes what to enter. */
  hint?: Child
  /** Why the submitted value was rejected. */
  error?: string
  isRequired?: boolean
  /** Adds "(optional)" to the label. */
  isOptional?: boolean
  /** Whether the label is visible to screen readers only. */
  isLabelUnseen?: boolean
}

/** Wraps a control with its label, hint and error. The control needs the attributes `fieldAttributes(field)`. */
function Field({ field, children }: { field: FieldProps; children: Child }) {
  return (
    <div class='field'>
      <label for={idOf(field)} class={field.isLabelUnseen ? 'unseen' : undefined}>
        <Label field={field} />
      </label>
      <Hint field={field} />
      {children}
      <ErrorText field={field} />
    </div>
  )
}

function Label({ field: { label, isOptional } }: { field: FieldProps }) {
  return (
    <>
      {label}
      {isOptional && <span class='optional'>(optional)</span>}
    </>
  )
}

function Hint({ field }: { field: FieldProps }) {
  return field.hint ? <p class='hint' id={`${idOf(field)}-hint`}>{field.hint}</p> : null
}

function ErrorText({ field }: { field: FieldProps }) {
  const error = errorOf(field)
  if (!error) return null
  return (
    <p class='error' id={`${idOf(field)}-error`}>
      <Icon name='warning' size={14} />
      <span>{error}</span>
    </p>
  )
}

/** Returns the attributes that connect a control to its label, hint and error. */
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
    // If several fields have errors, the browser focuses the first of them and scrolls to it.
    autofocus: error !== undefined,
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
  /** The minimum and maximum of a numeric field. */
  min?: number
  max?: number
  /** The step of a numeric field. `any` allows fractions. */
  step?: number | 'any'
  /** Text in front of the value, such as `@`. */
  before?: string
  /** A regular expression. Describe the format in `hint`. */
  pattern?: string
  /** Maximum number of characters, as checked by the verb. Browsers count UTF-16 units, up to two per character. */
  maxLength?: number
  autocomplete?: string
  isMono?: boolean
  isFocused?: boolean
  /** Suggested values. Users can enter others. `id` is unique on the page. */
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
      maxlength={field.maxLength && 2 * field.maxLength}
      autocomplete={field.autocomplete ?? 'off'}
      spellcheck={!field.isMono}
      autofocus={field.isFocused || errorOf(field) !== undefined}
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

/** A password field, always empty. `autocomplete` tells password managers which password to fill in. */
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
    /** The id of the field's form, if the field is outside the form. */
    inForm?: string
    /** The name under which the browser saves the input until it is sent. Ctrl+Enter sends the form. */
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
        maxlength={field.maxLength && 2 * field.maxLength}
        placeholder={field.placeholder}
        spellcheck={!field.isMono}
      >
        {valueOf(field)}
      </textarea>
    </Field>
  )
}

/** An option in a select, a radio group or a checkbox group. */
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

/** A select in a table cell. The column header serves as its visible label. */
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

/** A checkbox. The form contains `value` (default `on`) if it is checked, otherwise nothing. */
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

/** Radio buttons, each with an optional hint. `isMultiple` turns them into checkboxes with the same name. */
export function ChoiceList(
  field: FieldProps & { options: FieldOption[]; values?: string[]; isMultiple?: boolean; isCards?: boolean },
) {
  const { isMultiple } = field
  const posted = useContext(Posted)?.values
  const values = posted && (isMultiple || posted.has(field.name)) ? posted.getAll(field.name) : field.values ?? []
  return (
    <fieldset
      class={field.isCards ? 'choices cards' : 'choices'}
      aria-describedby={fieldAttributes(field)['aria-describedby']}
    >
      <legend>
        <Label field={field} />
      </legend>
      <Hint field={field} />
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
      <ErrorText field={field} />
    </fieldset>
  )
}

function idOf({ id, name }: FieldProps): string {
  return id ?? name
}
