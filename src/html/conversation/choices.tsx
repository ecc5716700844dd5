/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { Name } from '../bidi.tsx'
import { Form, HiddenFields } from '../form.tsx'
import { Icon } from '../icons.tsx'

/** The answers that an agent offers to a person. `asker` and `asked` include the `@`. */
export interface ShownChoices {
  asker: string
  /** The person who was asked. Shown to all other readers. */
  asked?: string
  offered: string[]
  /** The index of the chosen answer in `offered`. */
  chosen?: number
  /** The form that posts the answer. Undefined if the reader cannot answer. */
  form?: { action: string; fields: Record<string, string> }
}

/** Shows the offered answers as one-click buttons, or the chosen answer. The message's author is shown above. */
export function Choices({ asker, asked, offered, chosen, form }: ShownChoices) {
  return (
    <div class='offer'>
      {form
        ? (
          <Form action={form.action}>
            <HiddenFields fields={form.fields} />
            <fieldset>
              <legend>
                <Name text={asker} /> asks
              </legend>
              {offered.map((choice, n) => (
                <button type='submit' class='answer' name='choice' value={n}>
                  <Name text={choice} />
                </button>
              ))}
            </fieldset>
          </Form>
        )
        : (
          <>
            <p>
              <Name text={asker} /> asked {asked && <Name text={asked} />}
            </p>
            <ul>
              {offered.map((choice, n) => (
                <li class={n === chosen ? 'answer chosen' : 'answer'}>
                  {n === chosen && <Icon name='check' size={14} />}
                  <Name text={choice} />
                  {n === chosen && <span class='soft'>chosen</span>}
                </li>
              ))}
            </ul>
          </>
        )}
    </div>
  )
}
