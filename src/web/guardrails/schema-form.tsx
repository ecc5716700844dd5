/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** A guardrail's settings, generated from its provider's schema: the form fields, and the value of a posted form. */
import { ChoiceList, Select, TextArea, TextInput } from '../../html/fields.tsx'

/**
 * The subset of JSON Schema used by providers' configuration schemas: an object of texts, numbers, choices and lists.
 * `test/web/guardrails/schema-form.test.tsx` checks that they use nothing else.
 */
export interface JsonSchema {
  type?: string
  description?: string
  default?: unknown
  enum?: string[]
  format?: string
  minimum?: number
  maximum?: number
  maxLength?: number
  items?: JsonSchema
  properties?: Record<string, JsonSchema>
  required?: string[]
}

/** Texts whose maximum length is at least this many characters get a multi-line field. */
const longText = 400

/** Form fields for a configuration, named `config.NAME`. Without a stored value, they show the defaults. */
export function SchemaFields({ schema, stored }: { schema: JsonSchema; stored: unknown }) {
  const values = stored as Record<string, unknown> | undefined
  return (
    <>
      {Object.entries(schema.properties ?? {}).map(([name, property]) => (
        <SchemaField
          schema={property}
          name={name}
          value={values ? values[name] : property.default}
          isRequired={schema.required?.includes(name) ?? false}
        />
      ))}
    </>
  )
}

function SchemaField(
  { schema, name, value, isRequired }: { schema: JsonSchema; name: string; value: unknown; isRequired: boolean },
) {
  const field = {
    name: `config.${name}`,
    label: labelOf(name),
    hint: hintOf(schema),
    isRequired,
    isOptional: !isRequired && schema.default === undefined,
  }
  const text = value === undefined || value === null ? '' : String(value)

  if (schema.type === 'array') {
    const values = Array.isArray(value) ? value.map(String) : []
    if (schema.items?.enum) {
      const options = schema.items.enum.map((value) => ({ value, title: labelOf(value) }))
      return <ChoiceList {...field} options={options} values={values} isMultiple />
    }
    return <TextArea {...field} value={values.join('\n')} rows={5} isMono />
  }
  if (schema.enum) {
    const options = schema.enum.map((value) => ({ value, title: labelOf(value) }))
    return <Select {...field} options={options} value={text} />
  }
  if (schema.type === 'number' || schema.type === 'integer') {
    return (
      <TextInput
        {...field}
        type='number'
        value={text}
        min={schema.minimum}
        max={schema.maximum}
        step={schema.type === 'integer' ? 1 : 'any'}
      />
    )
  }
  if ((schema.maxLength ?? 0) >= longText && schema.format !== 'uri') {
    return <TextArea {...field} value={text} maxLength={schema.maxLength} />
  }
  return (
    <TextInput {...field} type={schema.format === 'uri' ? 'url' : 'text'} value={text} maxLength={schema.maxLength} />
  )
}

/**
 * Returns the value of a posted form, to be validated against the schema. Empty fields are omitted, so that they get
 * their defaults. A number that cannot be parsed remains text.
 */
export function readSchemaValue({ properties = {} }: JsonSchema, form: URLSearchParams): Record<string, unknown> {
  const values = Object.entries(properties).map(([name, schema]) => [name, readField(schema, form, `config.${name}`)])
  return Object.fromEntries(values.filter(([, value]) => value !== undefined))
}

function readField(schema: JsonSchema, form: URLSearchParams, name: string): unknown {
  if (schema.type === 'array' && schema.items?.enum) return form.getAll(name)

  const text = (form.get(name) ?? '').trim()
  if (schema.type === 'array') return text.split('\n').map((line) => line.trim()).filter((line) => line !== '')
  if (text === '') return undefined
  const isNumber = (schema.type === 'number' || schema.type === 'integer') && Number.isFinite(Number(text))
  return isNumber ? Number(text) : text
}

const abbreviations: Record<string, string> = { api: 'API', iban: 'IBAN', id: 'ID', ids: 'IDs', url: 'URL' }

/** Turns `maxCharacters` into `Max characters`, and `national_id` into `National ID`. */
export function labelOf(name: string): string {
  const words = name.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase().split(/[\s_-]+/)
    .map((word) => abbreviations[word] ?? word)
  const text = words.join(' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Returns the schema's description, range, format and default. */
function hintOf(schema: JsonSchema): string | undefined {
  const { type, description, default: byDefault, minimum, maximum, items } = schema
  const isText = !schema.enum && (type === 'string' || type === 'number' || type === 'integer')
  const sentences = [
    description,
    isText && minimum !== undefined && maximum !== undefined &&
    `${minimum.toLocaleString('en')} to ${maximum.toLocaleString('en')}`,
    type === 'array' && !items?.enum && 'One per line',
    isText && byDefault !== undefined && `Default: ${byDefault}`,
  ].filter((text) => typeof text === 'string')
  return sentences.length === 0 ? undefined : `${sentences.map((text) => text.replace(/\.$/, '')).join('. ')}.`
}
