/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** An approval rule's form. */
import { conditions, type RuleInput, senderKinds } from '../../grid/approvals/rule-input.ts'
import type { ShownRule } from '../../grid/approvals/rules.ts'
import { invalidInput } from '../../errors.ts'
import { isolated } from '../../html/bidi.tsx'
import { Checkbox, ChoiceList, Select, TextInput } from '../../html/fields.tsx'
import { SubmitRow } from '../../html/form.tsx'
import type { AccountStore } from '../../store/account.ts'
import { PageForm, readChoice } from '../forms.tsx'
import type { Visit } from '../visit.ts'
import { kinds, timeInWords } from './rule-words.tsx'

const maxOffered = 200
const one = 'one'
const hours = [1, 4, 8, 24, 72, 168]

type Choices = Awaited<ReturnType<typeof loadChoices>>

/** Loads the options of the form's fields. */
export async function loadChoices({ read }: AccountStore) {
  const [agents, channels, guardrails, members] = await Promise.all([
    read.agents.page('', maxOffered),
    read.channels.page('', maxOffered),
    read.guardrails.list(),
    read.team.members(),
  ])
  return {
    agents: agents.map(({ alias }) => `@${alias}`),
    channels: channels.map(({ name }) => `#${name}`),
    guardrails,
    members: members.filter(({ role }) => role !== 'viewer'),
  }
}

/** The form for a rule. `rule` is undefined for a new rule. */
export function RuleForm(
  { visit, action, rule, choices }: { visit: Visit; action: string; rule?: ShownRule; choices: Choices },
) {
  const { agents, channels, guardrails, members } = choices
  const times = [...new Set([...hours, rule?.expiresInHours ?? 24])].sort((a, b) => a - b)
  return (
    <PageForm
      visit={visit}
      action={action}
      acts={rule === undefined}
      fields={['name', 'from', 'to', 'guardrail', 'mediaType', 'minBytes']}
    >
      <TextInput name='name' label='Name' value={rule?.name} maxLength={64} isRequired />
      <EndFields name='from' label='Hold messages from' what='agent' end={rule?.from ?? 'any'} known={agents} />
      <EndFields
        name='to'
        label='Sent to'
        what='agent or channel'
        end={rule?.to ?? 'external'}
        known={[...agents, ...channels]}
      />
      <ChoiceList
        name='condition'
        label='When'
        options={[
          { value: 'always', title: 'always' },
          { value: 'finding', title: 'if a guardrail objects, but does not block' },
          { value: 'parts', title: 'if they have files or other parts' },
        ]}
        values={[rule?.condition ?? 'always']}
        isRequired
      />
      <div class='when-finding'>
        <Select
          name='guardrail'
          label='Guardrail'
          options={[
            { value: '', title: 'any' },
            ...guardrails.map(({ id, name }) => ({ value: id, title: isolated(name) })),
          ]}
          value={guardrails.find(({ name }) => name === rule?.guardrail)?.id ?? ''}
        />
      </div>
      <div class='when-parts stack'>
        <TextInput
          name='mediaType'
          label='Type of the part'
          hint='How the media type begins, such as image/ or application/pdf.'
          value={rule?.mediaType ?? ''}
          isOptional
          isMono
        />
        <TextInput
          name='minBytes'
          type='number'
          min={0}
          label='Bytes at least'
          value={`${rule?.minBytes ?? ''}`}
          isOptional
        />
      </div>
      <ChoiceList
        name='deciders'
        label='Can be decided by'
        hint='They can read the messages that the rule holds. If nobody is chosen or left, the owners decide.'
        options={members.map(({ userId, name, email, role }) => ({ value: userId, title: name || email, hint: role }))}
        values={rule?.deciders.map(({ id }) => id) ?? []}
        isMultiple
      />
      <Select
        name='expiresInHours'
        label='Expires after'
        options={times.map((value) => ({ value: `${value}`, title: timeInWords(value) }))}
        value={`${rule?.expiresInHours ?? 24}`}
      />
      <Checkbox
        name='isRisky'
        label='Ask for a confirmation'
        hint='Deciding asks for a password or passkey unless it was given in the last ten minutes.'
        isChecked={rule?.isRisky}
      />
      <Checkbox name='enabled' label='On' isChecked={rule?.enabled ?? true} />
      <SubmitRow cancel={visit.path('approval-rules')}>{rule ? 'Save' : 'Create rule'}</SubmitRow>
    </PageForm>
  )
}

/** Selects a kind of senders or recipients, or one sender or recipient by name. */
function EndFields(
  { name, label, what, end, known }: {
    name: 'from' | 'to'
    label: string
    what: string
    end: string
    known: string[]
  },
) {
  const isKind = Object.hasOwn(kinds, end)
  return (
    <>
      <Select
        name={`${name}Kind`}
        label={label}
        options={[
          ...senderKinds.map((value) => ({
            value,
            title: name === 'to' && value === 'any' ? 'anyone' : kinds[value],
          })),
          { value: one, title: `one ${what}` },
        ]}
        value={isKind ? end : one}
      />
      <div class={`when-${name}`}>
        <TextInput
          name={name}
          label={`Which ${what}`}
          hint={name === 'to' ? '@alias or #channel' : '@alias'}
          value={isKind ? '' : end}
          list={{ id: `known-${name}`, values: known }}
        />
      </div>
    </>
  )
}

/** Reads the complete rule from the form. Fails with `invalid_input`. */
export function ruleOf(form: URLSearchParams): RuleInput {
  const condition = readChoice(form, 'condition', conditions) ?? 'always'
  return {
    name: form.get('name') ?? '',
    from: endOf(form, 'from'),
    to: endOf(form, 'to'),
    condition,
    // Browsers also submit hidden fields, so ignore fields that do not apply to the condition.
    guardrail: (condition === 'finding' && form.get('guardrail')) || null,
    mediaType: (condition === 'parts' && form.get('mediaType')) || null,
    minBytes: condition === 'parts' ? wholeNumber(form, 'minBytes', 1e12) : null,
    deciders: form.getAll('deciders'),
    expiresInHours: wholeNumber(form, 'expiresInHours', 168) ?? 24,
    enabled: form.has('enabled'),
    isRisky: form.has('isRisky'),
  }
}

function endOf(form: URLSearchParams, name: 'from' | 'to'): string {
  const kind = readChoice(form, `${name}Kind`, [...senderKinds, one]) ?? one
  if (kind !== one) return kind
  const text = (form.get(name) ?? '').trim()
  return /^[@#]/.test(text) ? text : `@${text}`
}

function wholeNumber(form: URLSearchParams, name: string, max: number): number | null {
  const text = form.get(name) ?? ''
  if (text === '') return null
  if (!/^\d{1,13}$/.test(text) || Number(text) > max) throw invalidInput('Enter a whole number.', name)
  return Number(text)
}
