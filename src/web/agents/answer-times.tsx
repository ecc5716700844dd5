/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { AnswerTimes as Times } from '../../grid/conversations/answer-times.ts'
import { Name } from '../../html/bidi.tsx'
import { Card } from '../../html/components.tsx'
import { durationInWords } from '../../html/conversation/state-line.tsx'
import { Plot } from '../../html/plots.tsx'
import { pluralize } from '../listing.tsx'

/** Small plots of an agent's answer times: one for all answers, and one for each of its most frequent partners. */
export function AnswerTimes({ times }: { times: Times[] }) {
  if (times.length === 0) return null
  return (
    <Card title='Answer times' lead='Averages of the last 7 days.'>
      {times.map(({ name, answers, averageMs, daysMs }) => (
        <Plot
          title={name === undefined ? 'All answers' : (
            <>
              To <Name text={name} />
            </>
          )}
          value={durationInWords(averageMs)}
          label={`${pluralize(answers, 'answer')}${name === undefined ? '' : ` to ${name}`} took ${
            durationInWords(averageMs)
          } on average. By day, oldest first: ${
            daysMs.map((ms) => ms === 0 ? 'none' : durationInWords(ms)).join(', ')
          }`}
          colours={['info']}
          names={daysMs.map((_, n) =>
            n === daysMs.length - 1 ? 'today' : pluralize(daysMs.length - 1 - n, 'day') + ' ago'
          )}
          isLogarithmic
          bars={daysMs.map((ms) => [ms])}
          inWords={([ms]) => ms === 0 ? 'no answers' : durationInWords(ms)}
        />
      ))}
    </Card>
  )
}
