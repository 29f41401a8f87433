import { z } from 'zod'
import { TAGS } from '../operations/operation.ts'
import { OPERATIONS } from '../operations/operations.ts'
import type { ServiceUrls } from '../service-urls.ts'

const METHODS = ['get', 'post', 'put', 'delete'] as const
type Method = (typeof METHODS)[number]

/** The members of an API description from which its parts are selected. Every operation declares its security. */
export interface DescribedApi {
  readonly info: object
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, PathItem>>
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}
type SecurityRequirement = Readonly<Record<string, readonly string[]>>
type PathItem = { readonly [M in Method]?: DescribedOperation }
interface DescribedOperation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly security: readonly SecurityRequirement[]
}

/** Reduces an API description to some operations, their tags and the components that they refer to. Keeps all other members. */
export function openApiPart(api: DescribedApi, operationIds: ReadonlySet<string>): DescribedApi {
  const paths = selectPaths(api.paths, operationIds)
  const operations = Object.values(paths).flatMap((item) => METHODS.flatMap((method) => item[method] ?? []))
  const tags = new Set(operations.flatMap((operation) => operation.tags))
  const reached = reachedComponents(api.components, [paths, securitySchemes(operations)])
  return {
    ...api,
    tags: api.tags.filter(({ name }) => tags.has(name)),
    paths,
    components: selectComponents(api.components, reached),
  }
}

function selectPaths(paths: DescribedApi['paths'], operationIds: ReadonlySet<string>): DescribedApi['paths'] {
  const items = Object.entries(paths).map(([path, item]) => {
    const selected: { -readonly [M in Method]?: DescribedOperation } = { ...item }
    for (const method of METHODS)
      if (!operationIds.has(item[method]?.operationId ?? '')) delete selected[method]
    return [path, selected] as const
  })
  return Object.fromEntries(items.filter(([, item]) => METHODS.some((method) => method in item)))
}

/** Lists references to the security schemes of operations, which name them without a reference. */
const securitySchemes = (operations: readonly DescribedOperation[]): string[] =>
  operations.flatMap(({ security }) =>
    security.flatMap((requirement) =>
      Object.keys(requirement).map((name) => `#/components/securitySchemes/${name}`),
    ),
  )

/** Finds the components to which references in `roots` lead, directly or through others. @returns their references, `#/components/…` */
function reachedComponents(
  components: DescribedApi['components'],
  roots: readonly unknown[],
): ReadonlySet<string> {
  const reached = new Set<string>()
  const unread: unknown[] = [...roots]
  while (unread.length > 0) {
    const value = unread.pop()
    if (typeof value === 'object' && value !== null)
      unread.push(...Object.values(value as Record<string, unknown>))
    if (typeof value !== 'string' || reached.has(value)) continue
    const [, kind = '', name = ''] = REFERENCE.exec(value) ?? []
    const component = components[kind]?.[name]
    if (component === undefined) continue
    reached.add(value)
    unread.push(component)
  }
  return reached
}

const REFERENCE = /^#\/components\/(\w+)\/([\w-]+)$/

function selectComponents(
  components: DescribedApi['components'],
  reached: ReadonlySet<string>,
): DescribedApi['components'] {
  const kinds = Object.entries(components).map(([kind, named]) => {
    const kept = Object.entries(named).filter(([name]) => reached.has(`#/components/${kind}/${name}`))
    return [kind, Object.fromEntries(kept)] as const
  })
  return Object.fromEntries(kinds.filter(([, named]) => Object.keys(named).length > 0))
}

/** Creates the schema of a query parameter with names separated by commas. */
const Names = (kind: string, valid: readonly string[]) =>
  z
    .union([z.string(), z.array(z.string())])
    .default([])
    .transform((sent) => new Set([sent].flat().flatMap((text) => text.split(','))))
    .refine(
      (names) => [...names].every((name) => valid.includes(name)),
      `must be one or more ${kind}, separated by commas: ${valid.join(', ')}`,
    )

/** The query of `GET /openapi.json`. */
const PartQuery = z.object({
  operation: Names(
    'operations',
    OPERATIONS.map(({ operationId }) => operationId),
  ),
  tag: Names('tags', Object.keys(TAGS)),
})

/** Creates the schema that parses a query to the JSON of the selected part of a description; to undefined for an empty query. */
export function openApiPartQuery(description: object, urls: ServiceUrls) {
  const api = JSON.parse(JSON.stringify(description)) as DescribedApi
  return PartQuery.transform(({ operation, tag }) => {
    if (operation.size + tag.size === 0) return undefined
    const selected = OPERATIONS.filter((each) => operation.has(each.operationId) || tag.has(each.tag))
    const part = openApiPart(api, new Set(selected.map(({ operationId }) => operationId)))
    return JSON.stringify({ ...part, info: { ...part.info, description: partDescription(urls) } })
  })
}

const partDescription = ({ openapi }: ServiceUrls) =>
  `A part of ${openapi}. Ignore members that you do not know.`
