/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** What a person says of themself wherever they come in. */
import { PasswordInput, TextInput } from '../../html/form.tsx'

/** How the others call them. */
export function NameField(
  { label = 'Your name', value, error, isFocused }: {
    label?: string
    value: string
    error: string | undefined
    isFocused?: boolean
  },
) {
  return (
    <TextInput
      name='name'
      label={label}
      value={value}
      error={error}
      autocomplete='name'
      maxLength={80}
      isRequired
      isFocused={isFocused}
    />
  )
}

/**
 * A password that is chosen. `email` tells password managers whose it is, where no field says so. One that is
 * optional leaves mailed links to sign in by.
 */
export function NewPasswordField(
  { label = 'Password', email, error, isOptional }: {
    label?: string
    email?: string
    error: string | undefined
    isOptional?: boolean
  },
) {
  return (
    <>
      {email !== undefined && <input type='hidden' name='email' value={email} autocomplete='username' />}
      <PasswordInput
        name='password'
        label={label}
        hint={isOptional
          ? 'At least 10 characters. Without one you sign in by mailed links.'
          : 'At least 10 characters.'}
        error={error}
        autocomplete='new-password'
        isOptional={isOptional}
        isRequired={!isOptional}
      />
    </>
  )
}

/** The address that they sign in with. */
export function EmailField({ value, error, isFocused }: { value: string; error?: string; isFocused?: boolean }) {
  return (
    <TextInput
      name='email'
      type='email'
      label='E-mail'
      value={value}
      error={error}
      autocomplete='username'
      isRequired
      isFocused={isFocused}
    />
  )
}
