import { z } from 'zod'
import { TAGS } from '../operations/operation.ts'
import { OPERATION_LIST } from '../operations/operations.ts'
import type { ServiceUrls } from '../service-urls.ts'

const METHODS = ['get', 'post', 'put', 'delete'] as const
type Method = (typeof METHODS)[number]

/** The members of an API description that the selection of a part uses. Every operation declares its security. */
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

/** Reduces an API description to some operations, their tags and the components they refer to. Keeps all other members. */
export function selectOpenApiPart(api: DescribedApi, operationIds: ReadonlySet<string>): DescribedApi {
  const paths = selectPaths(api.paths, operationIds)
  const operations = Object.values(paths).flatMap((item) => METHODS.flatMap((method) => item[method] ?? []))
  const tags = new Set(operations.flatMap((operation) => operation.tags))
  const references = findReferences(api.components, [paths, listSecuritySchemes(operations)])
  return {
    ...api,
    tags: api.tags.filter(({ name }) => tags.has(name)),
    paths,
    components: selectComponents(api.components, references),
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

/** Lists the security schemes of the operations as references. The operations themselves contain only the names. */
const listSecuritySchemes = (operations: readonly DescribedOperation[]): string[] =>
  operations.flatMap(({ security }) =>
    security.flatMap((requirement) =>
      Object.keys(requirement).map((name) => `#/components/securitySchemes/${name}`),
    ),
  )

/**
 * Finds the components that `roots` refer to, directly or through other components.
 *
 * @returns the component references, `#/components/…`
 */
function findReferences(
  components: DescribedApi['components'],
  roots: readonly unknown[],
): ReadonlySet<string> {
  const references = new Set<string>()
  const unvisited: unknown[] = [...roots]
  while (unvisited.length > 0) {
    const value = unvisited.pop()
    if (typeof value === 'object' && value !== null)
      unvisited.push(...Object.values(value as Record<string, unknown>))
    if (typeof value !== 'string' || references.has(value)) continue
    const [, kind = '', name = ''] = REFERENCE.exec(value) ?? []
    const component = components[kind]?.[name]
    if (component === undefined) continue
    references.add(value)
    unvisited.push(component)
  }
  return references
}

const REFERENCE = /^#\/components\/(\w+)\/([\w-]+)$/

function selectComponents(
  components: DescribedApi['components'],
  references: ReadonlySet<string>,
): DescribedApi['components'] {
  const kinds = Object.entries(components).map(([kind, byName]) => {
    const selected = Object.entries(byName).filter(([name]) => references.has(`#/components/${kind}/${name}`))
    return [kind, Object.fromEntries(selected)] as const
  })
  return Object.fromEntries(kinds.filter(([, byName]) => Object.keys(byName).length > 0))
}

/** Creates the schema of a query parameter with comma-separated names. */
const createNameListSchema = (kind: string, validNames: readonly string[]) =>
  z
    .union([z.string(), z.array(z.string())])
    .default([])
    .transform((names) => new Set([names].flat().flatMap((text) => text.split(','))))
    .refine(
      (names) => [...names].every((name) => validNames.includes(name)),
      `must be one or more ${kind}, separated by commas: ${validNames.join(', ')}`,
    )

/** The query of `GET /openapi.json`. */
const PartQuery = z.object({
  operation: createNameListSchema(
    'operations',
    OPERATION_LIST.map(({ operationId }) => operationId),
  ),
  tag: createNameListSchema('tags', Object.keys(TAGS)),
})

/**
 * Creates a schema that turns a query into a function that creates the selected part of the description, as JSON. The result is
 * undefined if the query selects nothing. Only the function takes long, so the caller can first apply a limit.
 */
export function createPartQuery(description: object, urls: ServiceUrls) {
  const api = JSON.parse(JSON.stringify(description)) as DescribedApi
  return PartQuery.transform(({ operation, tag }) => {
    if (operation.size + tag.size === 0) return undefined
    const selectedIds = OPERATION_LIST.filter(
      (candidate) => operation.has(candidate.operationId) || tag.has(candidate.tag),
    ).map(({ operationId }) => operationId)
    return () => {
      const part = selectOpenApiPart(api, new Set(selectedIds))
      return JSON.stringify({ ...part, info: { ...part.info, description: describePart(urls) } })
    }
  })
}

const describePart = ({ openapi }: ServiceUrls) =>
  `A part of ${openapi}. Ignore members that you do not know.`
