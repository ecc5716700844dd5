/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { Form, SubmitButton } from '../html/form.tsx'

/** A form whose only button turns a setting on or off. It sends `yes` or `no` in the field `name`. */
export function SwitchForm(
  { action, csrf, name, isOn, turnOn, turnOff }: {
    action: string
    csrf: string
    name: string
    isOn: boolean
    /** The text of the button while the setting is off. */
    turnOn: string
    /** The text of the button while the setting is on. */
    turnOff: string
  },
) {
  return (
    <Form action={action} csrf={csrf}>
      <input type='hidden' name={name} value={isOn ? 'no' : 'yes'} />
      <div class='row'>
        <SubmitButton kind='plain'>{isOn ? turnOff : turnOn}</SubmitButton>
      </div>
    </Form>
  )
}
