/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Tries a guardrail on a text. See docs/protocol/guardrails.md, "Trying one". */
import type { Child } from 'hono/jsx'
import { type GuardrailTrial, redactedText, triedText, tryGuardrail } from '../../grid/guardrails/try-guardrail.ts'
import type { Span } from '../../guardrails/provider.ts'
import { visibleControls } from '../../html/bidi.tsx'
import { Badge, Card, Disclosure, Facts, Notice } from '../../html/components.tsx'
import { TextArea } from '../../html/fields.tsx'
import { Form, SubmitRow } from '../../html/form.tsx'
import type { AccountStore } from '../../store/account.ts'
import { formErrors, Refusal } from '../forms.tsx'
import type { Pages, Visit } from '../visit.ts'

/** Maximum length of the typed text, in characters. It keeps the encoded form below the form size limit. */
const maxTyped = 3_500
/** Longer raw responses are truncated to this length, in UTF-16 units. */
const maxRaw = 20_000
/** Longer texts with highlights are truncated to this length, in UTF-16 units. */
const maxText = 20_000
const maxMarks = 500

/** The outcome of a trial. */
export interface TriedText {
  /** The text as the guardrail saw it. */
  text: string
  trial: GuardrailTrial
}

/** Registers the trial. The typed text is never logged or stored. `page` shows it with the result. */
export function tryPages({ get, post }: Pages<Visit>, page: (visit: Visit, tried?: TriedText) => Promise<Response>) {
  get('/guardrails/:guardrail/try', (visit) => ({ redirectTo: visit.path('guardrails', visit.param('guardrail')) }))
  post('/guardrails/:guardrail/try', async (visit) => {
    const id = visit.param('guardrail')
    const text = visit.form.get('text') ?? ''
    // The log does not contain the text.
    const run = (account: AccountStore) => tryGuardrail(account, { guardrail: id }, text)
    const trial = await visit.record('try_guardrail', { id }, run)
    return await page(visit, { text: triedText(text), trial })
  }, (visit) => page(visit))
}

/**
 * The trial form and its latest result. `settings` is the id of the form with the settings of a guardrail that is not
 * stored yet. These settings are sent with the text.
 */
export function TryCard(
  { visit, path, isRemote, tried, settings }: {
    visit: Visit
    path: string
    isRemote: boolean
    tried: TriedText | undefined
    settings?: string
  },
) {
  const action = `${path}/try`
  // Listing `config` and `token` keeps their errors out of `rest`. The settings form already shows them.
  const errors = formErrors(visit, action, settings ? ['text', 'config', 'token'] : ['text'])
  const text = (
    <TextArea
      name='text'
      label='Text'
      hint='Up to 3,500 characters. The command try-guardrail takes longer texts.'
      rows={5}
      maxLength={maxTyped}
      value={visit.form.get('text') ?? ''}
      error={errors.text}
      isRequired={!settings}
      inForm={settings}
    />
  )
  return (
    <Card
      id='try'
      title='Try it'
      lead={`${
        settings
          ? 'Runs these settings on a text, before you save them.'
          : 'Runs this guardrail on a text, also while it is off.'
      } No message is sent. ${
        isRemote ? 'The service receives the text; the grid does not store it.' : 'The text is not stored.'
      }`}
    >
      {errors.rest && <Refusal visit={visit}>{errors.rest}</Refusal>}
      {settings
        ? (
          <>
            {text}
            <SubmitRow kind='plain' sends={{ form: settings, to: `${action}#try` }}>Run</SubmitRow>
          </>
        )
        : (
          <Form action={`${action}#try`}>
            {text}
            <SubmitRow kind='plain'>Run</SubmitRow>
          </Form>
        )}
      {tried && <Result {...tried} />}
    </Card>
  )
}

function Result({ text, trial: { verdict, failure, milliseconds, raw } }: TriedText) {
  const time = `${milliseconds.toLocaleString('en')} ms`
  if (!verdict) {
    return (
      <>
        <Notice kind='bad' title='It could not check the text'>{failure?.message}</Notice>
        <Facts items={[['Time', time]]} />
      </>
    )
  }
  const objects = verdict.kinds.length > 0
  const spans = marksOf(text, verdict.spans ?? [])
  return (
    <>
      <Notice kind={objects ? 'warning' : 'good'} title={objects ? 'It objects to this text' : 'It does not object'} />
      <Facts
        items={[
          ['Finding', objects && <Kinds kinds={verdict.kinds} />],
          ['Time', time],
        ]}
      />
      {objects && (
        <>
          <div class='stack tight'>
            <h3>Where</h3>
            {spans.length > 0
              ? (
                <Said label='The text, with what it found'>
                  <Marked text={text} spans={spans} />
                </Said>
              )
              : <p class='soft'>It does not say where, so redacting masks the whole text.</p>}
          </div>
          <div class='stack tight'>
            <h3>Delivered if it redacts</h3>
            <Said label='What is delivered if it redacts'>{cut(redactedText(text, verdict), maxText)}</Said>
          </div>
        </>
      )}
      {raw !== undefined && (
        <div class='folds'>
          <Disclosure title='Answer of the service'>
            <Said label='Answer of the service' dir='ltr'>{cut(JSON.stringify(raw, undefined, 2) ?? '', maxRaw)}</Said>
          </Disclosure>
        </div>
      )}
    </>
  )
}

function Said({ label, dir = 'auto', children }: { label: string; dir?: 'auto' | 'ltr'; children: Child }) {
  return <pre class='said' dir={dir} tabindex={0} aria-label={label}>{children}</pre>
}

function Kinds({ kinds }: { kinds: readonly string[] }) {
  return (
    <span class='pairs'>
      {kinds.slice(0, 20).map((kind) => {
        const name = visibleControls(String(kind).slice(0, 60).toWellFormed())
        return <Badge kind='warning' title={name}>{name}</Badge>
      })}
    </span>
  )
}

function Marked({ text, spans }: { text: string; spans: Span[] }) {
  const shown = text.slice(0, maxText)
  return (
    <>
      {spans.filter(({ start }) => start < shown.length).map(({ start, end }, index) => (
        <>
          {plain(shown.slice(spans[index - 1]?.end ?? 0, start))}
          <mark>{plain(shown.slice(start, end))}</mark>
        </>
      ))}
      {plain(shown.slice(spans.at(-1)?.end ?? 0))}
      {text.length > shown.length && (
        <em>{` (${(text.length - shown.length).toLocaleString('en')} more characters)`}</em>
      )}
    </>
  )
}

/** Returns the spans within the text, in order and without overlaps. A service's response is untrusted input. */
function marksOf(text: string, spans: readonly Span[]): Span[] {
  const marks: { start: number; end: number }[] = []
  const inText = spans.map(({ start, end }) => ({
    start: Math.max(0, Number(start)),
    end: Math.min(text.length, Number(end)),
  }))
  for (const { start, end } of inText.filter(({ start, end }) => start < end).sort((a, b) => a.start - b.start)) {
    const last = marks.at(-1)
    if (last && start <= last.end) last.end = Math.max(last.end, end)
    else if (marks.length < maxMarks) marks.push({ start, end })
  }
  return marks
}

function cut(text: string, max: number): string {
  const more = text.length - max
  return more > 0 ? `${plain(text.slice(0, max))}\n(${more.toLocaleString('en')} more characters)` : plain(text)
}

function plain(text: string): string {
  return visibleControls(text.toWellFormed())
}
