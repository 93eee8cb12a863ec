/** The five source documents, in the order of their numbers. */
import { coordinator } from './coordinator-authority.ts'
import { lifecycle } from './job-lifecycle.ts'
import type { SourceDocument } from './source-document.ts'
import { leases } from './state-machine-and-leases.ts'
import { hardening } from './state-machine-hardening.ts'
import { stateModel } from './state-model.ts'

export const SOURCES: readonly SourceDocument[] = [
  stateModel,
  hardening,
  lifecycle,
  leases,
  coordinator,
]
