import { createHash } from 'node:crypto'
import { readTemplate } from '../read-template.ts'
import type { ServiceUrls } from '../service-urls.ts'
import {
  jsonDocument,
  MARKDOWN_TYPE,
  parsePath,
  type ResourceDocumentConfig,
  type ServedDocument,
} from './served-document.ts'

/** The type that `ai-catalog.json` names for a SKILL.md. */
export const SKILL_TYPE = 'application/agent-skills+md'

const INDEX_SCHEMA = 'https://schemas.agentskills.io/discovery/0.2.0/schema.json'

/** One agent skill (agentskills.io). */
interface Skill {
  /** Also the name of its folder. */
  readonly name: string
  readonly title: string
  /** What it does and when to use it; at most 1024 characters. */
  readonly description: string
  readonly version: string
  /** What people say when this skill fits. */
  readonly queries: readonly string[]
  /** Markdown, without the front matter. */
  body(urls: ServiceUrls, attorneyLists: readonly string[]): string
}

const useApi = readTemplate(new URL('./use-immigration-guidance-api.template.md', import.meta.url), [
  'urls',
  'handOffSkill',
])
const handOff = readTemplate(new URL('./hand-off-to-an-attorney.template.md', import.meta.url), [
  'urls',
  'attorneyLists',
  'useApiSkill',
])

const USE_API: Skill = {
  name: 'use-immigration-guidance-api',
  title: 'Use the Plainpath Immigration Guidance API',
  description:
    'Answer a question about U.S. immigration, find and read plain-English guides with their official sources, put a ' +
    'person on the product waitlist, and send a message to the staff of Plainpath for a person, through the Plainpath ' +
    'Immigration Guidance API. Use when a person asks about a U.S. immigration form, fee, step, deadline or appointment, ' +
    'wants to join the waitlist, or wants to write to Plainpath.',
  version: '1.2.0',
  queries: [
    'how do I apply for a work permit',
    'put me on the immigration guidance waitlist',
    'tell Plainpath that a guide is wrong',
  ],
  body: (urls) => useApi({ urls, handOffSkill: urls.skill(HAND_OFF.name) }),
}

/** When to stop answering, and how a person finds an attorney. */
const HAND_OFF: Skill = {
  name: 'hand-off-to-an-attorney',
  title: 'Hand off to an immigration attorney',
  description:
    'Recognize when a question about U.S. immigration needs a licensed attorney or an accredited representative, ' +
    'and lead the person to the official lists. Use when a case involves removal proceedings, arrests, past ' +
    'denials, false statements, fear of return, missed deadlines, or anything that a guide does not settle.',
  version: '1.2.0',
  queries: ['do I need an immigration lawyer', 'where can I find free legal help for immigration court'],
  body: (urls, attorneyLists) =>
    handOff({
      urls,
      attorneyLists: attorneyLists.map((address) => `   - ${address}`).join('\n'),
      useApiSkill: urls.skill(USE_API.name),
    }),
}

export const SKILLS: readonly Skill[] = [USE_API, HAND_OFF]

/** The files of the skills, and their index (Agent Skills discovery 0.2.0) with the digests of the bytes served. */
export function agentSkills(
  urls: ServiceUrls,
  { attorneyLists }: Pick<ResourceDocumentConfig, 'attorneyLists'>,
): ServedDocument[] {
  const files = SKILLS.map((skill) => ({
    ...skill,
    content: skillFile(skill, urls, skill.body(urls, attorneyLists)),
  }))
  const index = {
    $schema: INDEX_SCHEMA,
    instructions:
      'Use these when a person asks about U.S. immigration: forms, fees, steps, waiting, appointments; or wants to ' +
      'send a message to Plainpath. They give sourced information, not legal advice. Do not use them to decide ' +
      'somebody’s own case.',
    skills: files.map(({ name, description, content }) => ({
      name,
      type: 'skill-md',
      description,
      url: urls.skill(name),
      digest: `sha256:${createHash('sha256').update(content).digest('hex')}`,
    })),
  }
  return [
    jsonDocument(urls.skills, index),
    ...files.map(({ name, content }) => ({
      path: parsePath(urls.skill(name)),
      contentType: MARKDOWN_TYPE,
      alsoAs: [SKILL_TYPE],
      content,
    })),
  ]
}

/** Quoted as JSON, which YAML reads the same. */
const skillFile = ({ name, description, version }: Skill, urls: ServiceUrls, body: string) => `---
name: ${name}
description: ${JSON.stringify(description)}
license: Proprietary
compatibility: ${JSON.stringify(`Needs HTTP access to ${urls.origin}`)}
metadata:
  version: ${JSON.stringify(version)}
  auth: ${JSON.stringify(urls.authMd)}
---
${body}`
