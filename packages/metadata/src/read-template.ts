import { readFileSync } from 'node:fs'
import { createServiceUrls, type ServiceUrls } from './service-urls.ts'

const PLACEHOLDER = /\{\{([A-Za-z.]+)\}\}/g

/** The placeholders for service addresses, such as `urls.token`. They exclude `publicMcp`, which an installation may lack. */
const URL_NAMES = Object.entries(createServiceUrls('https://origin.example'))
  .filter(([, address]) => typeof address === 'string')
  .map(([name]) => `urls.${name}`)

/**
 * Reads a template with placeholders such as `{{name}}`, and returns a function that fills it in.
 *
 * @param names the placeholders that receive a value on each call. The name `urls` allows all service addresses, such as
 *   `{{urls.token}}`.
 * @param constants the placeholders whose values never change
 * @throws {Error} if a placeholder is unknown or malformed, or the template does not use one of the names or constants
 */
export function readTemplate<const Name extends string>(
  file: URL,
  names: readonly Name[],
  constants: Readonly<Record<string, string | number>> = {},
): (values: { readonly [N in Name]: N extends 'urls' ? ServiceUrls : string }) => string {
  const text = readFileSync(file, 'utf8')
  const usedNames = new Set(Array.from(text.matchAll(PLACEHOLDER), ([, name = '']) => name))
  const urlNames = (names as readonly string[]).includes('urls') ? URL_NAMES : []
  const availableNames = [...names.filter((name) => name !== 'urls'), ...Object.keys(constants)]
  const mistakes = [
    ...[...usedNames]
      .filter((name) => ![...availableNames, ...urlNames].includes(name))
      .map((name) => `unknown ${name}`),
    ...availableNames.filter((name) => !usedNames.has(name)).map((name) => `unused ${name}`),
    ...(urlNames.length > 0 && !urlNames.some((name) => usedNames.has(name)) ? ['unused urls'] : []),
    ...(text.replaceAll(PLACEHOLDER, '').includes('{{') ? ['a placeholder is malformed'] : []),
  ]
  if (mistakes.length > 0) throw new Error(`${file.pathname}: ${mistakes.join(', ')}`)
  // With a capturing group, `split` also returns the names: texts are at even positions, and names at odd ones.
  const parts = text.split(PLACEHOLDER)
  return (values: Readonly<Record<string, unknown>>) => {
    const urls = values['urls'] as Readonly<Record<string, unknown>> | undefined
    const findValue = (name: string) =>
      name.startsWith('urls.') ? urls?.[name.slice('urls.'.length)] : (values[name] ?? constants[name])
    return parts.map((part, index) => (index % 2 === 0 ? part : String(findValue(part)))).join('')
  }
}
