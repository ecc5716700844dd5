/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Page forms: posted values, errors, and layouts that several pages share. */
import type { Child } from 'hono/jsx'
import { GridError } from '../errors.ts'
import { Card, Notice } from '../html/components.tsx'
import { Form, type FormProps, SubmitRow } from '../html/form.tsx'
import { ConfirmDelete } from '../html/secrets.tsx'
import { isBack } from './refused-form.tsx'
import type { PublicVisit } from './visit.ts'

export type FormRequest = Pick<PublicVisit, 'request' | 'inputError' | 'form' | 'csrf'>

/** A form's error messages by field. `rest` is an error that belongs to no field. */
export type FormErrors<Field extends string> = Partial<Record<Field | 'rest', string>>

/** Returns the errors of the form that posts to `action`. Empty if this request did not post it. */
export function formErrors<Field extends string>(
  { request, inputError }: Pick<FormRequest, 'request' | 'inputError'>,
  action: string,
  fields: readonly Field[],
): FormErrors<Field> {
  if (!inputError || new URL(request.url).pathname !== action) return {}
  const refused = inputError.details.field
  // An error in a list entry, such as `config.patterns.1`, belongs to the list's field.
  const field = fields.find((name) => name === refused || refused?.startsWith(`${name}.`))
  return { [field ?? 'rest']: inputError.message } as FormErrors<Field>
}

/**
 * A page form. A refused form shows the posted values again. Its error is shown at its field if that is one of
 * `fields`, otherwise above the form or at the field `restAt`. `acts` means that the form creates something or triggers
 * an action, so no field holds a value that others could have changed.
 */
export function PageForm(
  { visit, action, fields = [], restAt, acts, ...form }:
    & { visit: FormRequest; fields?: readonly string[]; restAt?: string; acts?: boolean }
    & Omit<FormProps, 'posted' | 'changes'>,
) {
  const errors: FormErrors<string> = formErrors(visit, action, fields)
  const isRefused = Object.keys(errors).length > 0
  const errorOf = (name: string) => errors[name] ?? (name === restAt && !isBack(visit) ? errors.rest : undefined)
  return (
    <>
      {errors.rest && (!restAt || isBack(visit)) && <Refusal visit={visit}>{errors.rest}</Refusal>}
      <Form
        {...form}
        action={action}
        changes={!acts}
        posted={isRefused ? { values: visit.form, errorOf } : undefined}
      />
    </>
  )
}

/** Explains why a form was refused, or that it was restored and has changed nothing yet. */
export function Refusal({ visit, children }: { visit: Pick<FormRequest, 'inputError'>; children: Child }) {
  return <Notice kind={isBack(visit) ? 'good' : 'bad'}>{children}</Notice>
}

const origins = ['home', 'attention'] as const
/** Pages that list items for the visitor. A form in a row contains the page's name and returns to that page. */
export type Origin = (typeof origins)[number]

/** Returns the page that a form came from and returns to. */
export function originOf(form: URLSearchParams): Origin | undefined {
  return origins.find((origin) => origin === form.get('from'))
}

/** Returns a form value that must be one of `options`. Undefined if it is missing. Fails with `invalid_input`. */
export function readChoice<const T extends string>(
  form: URLSearchParams,
  field: string,
  options: readonly T[],
): T | undefined {
  const value = form.get(field)
  if (value === null) return undefined
  const option = options.find((option) => option === value)
  if (option === undefined) throw new GridError('invalid_input', 'Choose one of the options.', { field })
  return option
}

/** A form with a single button that turns a setting on or off. Posts `yes` or `no` in the field `name`. */
export function SwitchForm(
  { visit, action, name, isOn, turnOn, turnOff }: {
    visit: FormRequest
    action: string
    name: string
    isOn: boolean
    /** The button's text while the setting is off. */
    turnOn: string
    /** The button's text while the setting is on. */
    turnOff: string
  },
) {
  return (
    <PageForm visit={visit} action={action} acts>
      <input type='hidden' name={name} value={isOn ? 'no' : 'yes'} />
      <SubmitRow kind='plain'>{isOn ? turnOff : turnOn}</SubmitRow>
    </PageForm>
  )
}

/** A card that deletes the page's subject. `noun` is its kind. `lead` explains what else the deletion affects. */
export function DeleteCard(
  { noun, lead, action, label = `Delete ${noun}`, question }: {
    noun: string
    lead: string
    action: string
    label?: string
    question: Child
  },
) {
  return (
    <Card title={`Delete this ${noun}`} isDanger lead={lead}>
      <ConfirmDelete action={action} label={label} question={question} />
    </Card>
  )
}
