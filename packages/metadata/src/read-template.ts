import { readFileSync } from 'node:fs'
import { type ServiceUrls, serviceUrls } from './service-urls.ts'

const PLACEHOLDER = /\{\{([A-Za-z.]+)\}\}/g

const ADDRESSES = Object.entries(serviceUrls('https://origin.example'))
  .filter(([, address]) => typeof address === 'string')
  .map(([name]) => `urls.${name}`)

/**
 * Reads a text whose placeholders are written `{{name}}`, once, at start.
 *
 * @param names placeholders that get a value each time the text is filled in. The name `urls` stands for the addresses
 *   of the service, `{{urls.token}}` and the like, of which a text uses those it needs.
 * @param constants placeholders whose value never changes
 * @throws when the text has a placeholder that gets no value, or lacks one that is named here
 */
export function readTemplate<const Name extends string>(
  file: URL,
  names: readonly Name[],
  constants: Readonly<Record<string, string | number>> = {},
): (values: { readonly [N in Name]: N extends 'urls' ? ServiceUrls : string }) => string {
  const text = readFileSync(file, 'utf8')
  const used = new Set(Array.from(text.matchAll(PLACEHOLDER), ([, name = '']) => name))
  const addresses = (names as readonly string[]).includes('urls') ? ADDRESSES : []
  const availableNames = [...names.filter((name) => name !== 'urls'), ...Object.keys(constants)]
  const mistakes = [
    ...[...used]
      .filter((name) => ![...availableNames, ...addresses].includes(name))
      .map((name) => `unknown ${name}`),
    ...availableNames.filter((name) => !used.has(name)).map((name) => `unused ${name}`),
    ...(addresses.length > 0 && !addresses.some((name) => used.has(name)) ? ['unused urls'] : []),
    ...(text.replaceAll(PLACEHOLDER, '').includes('{{') ? ['a placeholder is malformed'] : []),
  ]
  if (mistakes.length > 0) throw new Error(`${file.pathname}: ${mistakes.join(', ')}`)
  return ({ urls, ...values }: { readonly urls?: ServiceUrls }) => {
    const all = new Map<string, unknown>(Object.entries({ ...constants, ...values }))
    for (const [name, address] of Object.entries(urls ?? {})) all.set(`urls.${name}`, address)
    return text.replaceAll(PLACEHOLDER, (_, name: string) => String(all.get(name)))
  }
}
