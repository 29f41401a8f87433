import {
  AddedSecret,
  AgentDescription,
  AgentKeySet,
  AgentRegistration,
  AgentSecret,
  AlreadyOnWaitlist,
  Answer,
  AnswerExplanation,
  AnswerRequest,
  BeginClaimRequest,
  BegunClaim,
  CompleteClaimRequest,
  CompletedClaim,
  ContactReceived,
  ContactRequest,
  ContactState,
  Guide,
  GuideHistoryLine,
  GuideList,
  GuideListing,
  GuideSlug,
  GuideSource,
  Health,
  Help,
  JoinedWaitlist,
  JoinWaitlistRequest,
  Link,
  PassageSource,
  RegisterAgentRequest,
  RegisteredAgent,
  RegisteredKeyAgent,
  RenewedAssertion,
  ReplaceAgentKeysRequest,
  ReplacedAgentKeys,
  Scope,
  SentJwk,
  TriggerId,
  TriggerList,
} from '@plainpath/domain'
import { z } from 'zod'
import type { ZodOpenApiOverride } from 'zod-openapi'
import { RevokeRequest, TokenRequest, TokenResponse } from '../operations/oauth.ts'
import { AgentProblem, OAuthError, Problem } from './errors.ts'

/** The names by which a generated client knows the schemas. A schema that is used twice belongs here: it is then written once. */
export const NAMED_SCHEMAS = {
  Guide,
  GuideSlug,
  GuideHistoryLine,
  GuideList,
  GuideListing,
  GuideSource,
  PassageSource,
  AnswerRequest,
  Answer,
  TriggerList,
  TriggerId,
  Link,
  Help,
  JoinWaitlistRequest,
  JoinedWaitlist,
  AlreadyOnWaitlist,
  ContactRequest,
  ContactReceived,
  ContactState,
  RegisterAgentRequest,
  AgentRegistration,
  RegisteredAgent,
  RegisteredKeyAgent,
  AgentDescription,
  PublicJwk: SentJwk,
  AgentKeySet,
  AgentSecret,
  AddedSecret,
  ReplaceAgentKeysRequest,
  ReplacedAgentKeys,
  Scope,
  TokenRequest,
  TokenResponse,
  RevokeRequest,
  Health,
  Problem,
  AgentProblem,
  OAuthError,
  BeginClaimRequest,
  BegunClaim,
  CompleteClaimRequest,
  CompletedClaim,
  RenewedAssertion,
}

/** The schema that each of these has all members of. They are written as a reference to it and what they add. */
const BASES: Partial<Record<SchemaName, SchemaName>> = {
  RegisteredAgent: 'AgentRegistration',
  RegisteredKeyAgent: 'AgentRegistration',
  AgentDescription: 'AgentRegistration',
  ReplacedAgentKeys: 'AgentDescription',
  CompletedClaim: 'RenewedAssertion',
  GuideSource: 'PassageSource',
  AgentProblem: 'Problem',
}
type SchemaName = keyof typeof NAMED_SCHEMAS

const BASE_BY_SCHEMA: ReadonlyMap<unknown, SchemaName> = new Map(
  Object.entries(BASES).map(([name, base]) => [NAMED_SCHEMAS[name as SchemaName], base]),
)

/** Formats that imply the pattern that zod adds. */
const FORMATS_WITH_PATTERN: ReadonlySet<unknown> = new Set(['date', 'date-time', 'uuid'])

/** Removes what another schema or keyword already says, and what no reader decides by. */
export const shortenSchema: ZodOpenApiOverride = ({ zodSchema, jsonSchema, io }) => {
  // A later version may add members to a response, so clients must not refuse unknown ones.
  if (io === 'output' || isEmpty(jsonSchema.additionalProperties)) delete jsonSchema.additionalProperties
  if (FORMATS_WITH_PATTERN.has(jsonSchema.format)) delete jsonSchema.pattern
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  // Texts of responses are not empty. A request that is checked has a longest text, too.
  if (jsonSchema.minLength === 1 && jsonSchema.maxLength === undefined) delete jsonSchema.minLength
  if (zodSchema === AnswerExplanation) leaveOpen(jsonSchema)
  if (zodSchema === AgentKeySet) jsonSchema.properties = { keys: PUBLIC_KEYS }
  const baseName = BASE_BY_SCHEMA.get(zodSchema)
  if (baseName) extendBase(zodSchema, jsonSchema, baseName)
}

/** The keys of a registration have the form in which they were sent. */
const PUBLIC_KEYS = {
  type: 'array' as const,
  items: { $ref: '#/components/schemas/PublicJwk' },
  description: 'Each with its `kid` and `alg`.',
}

const isEmpty = (schema: unknown) =>
  typeof schema === 'object' && schema !== null && Object.keys(schema).length === 0

/** Describes an object whose members callers cannot rely on. */
function leaveOpen(jsonSchema: z.core.JSONSchema.BaseSchema): void {
  delete jsonSchema.properties
  delete jsonSchema.required
  jsonSchema.additionalProperties = true
}

function extendBase(
  zodSchema: unknown,
  jsonSchema: z.core.JSONSchema.BaseSchema,
  baseName: SchemaName,
): void {
  const base: unknown = NAMED_SCHEMAS[baseName]
  if (!(zodSchema instanceof z.ZodObject) || !(base instanceof z.ZodObject)) return
  const inherited = Object.keys(base.shape).filter((name) => zodSchema.shape[name] === base.shape[name])
  for (const name of inherited) delete jsonSchema.properties?.[name]
  const own = jsonSchema.required?.filter((name) => !inherited.includes(name)) ?? []
  jsonSchema.required = own
  jsonSchema.allOf = [{ $ref: `#/components/schemas/${baseName}` }]
}
