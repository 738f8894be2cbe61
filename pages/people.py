"""Members, their usage and the audit log: for administrators of a shared deployment."""

from __future__ import annotations

from shapewise.ui.frame.starting import begin

import pandas as pd
import streamlit as st

from shapewise.access.permissions import ROLE_WORDS, ROLES
from shapewise.jobs import queue as jobs
from shapewise.store import people
from shapewise.store.deletions import deletions
from shapewise.ui.session import news, state
from shapewise.ui.session.words import count, date, md, size, told_apart
from shapewise.ui.widgets import undo

begin("People", "Members, what they use, and the audit log.")
space = state.workspace()
if not space.may("administer"):
    st.error("Only administrators can open this page.", icon=":material/lock:")
    st.stop()

members = people.members(space)
row = st.container(horizontal=True)
row.metric("People", count(len(members)), border=True)
row.metric("Items", count(sum(member.things for member in members)), border=True)
row.metric("On disk", size(sum(member.bytes for member in members)), border=True)
by_id = {member.person.id: member for member in members}
label = told_apart({member.person.id: member.person.name for member in members})

people_tab, jobs_tab, deleted_tab, log_tab = st.tabs(["People", "Jobs", "Deleted", "Audit log"])
with people_tab:
    listing = pd.DataFrame(
        {
            "Name": [member.person.name for member in members],
            "Role": [member.person.role for member in members],
            "Last here": [date(member.seen) if member.seen else "never" for member in members],
            "Items": [member.things for member in members],
            "On disk": [size(member.bytes) for member in members],
        }
    )
    st.dataframe(listing, hide_index=True, alt="One row per person: role, last visit, what they own.")
    others = [identifier for identifier in by_id if identifier != space.person.id]
    heirs_of_all = [identifier for identifier, member in by_id.items() if member.seen]
    if not others:
        st.caption("No one else has signed in yet.")
    else:
        with st.container(border=True):
            who = st.selectbox("Person", others, format_func=label.__getitem__)
            with st.container(horizontal=True, vertical_alignment="bottom"):
                role = st.segmented_control(
                    "Role", ROLES, default=by_id[who].person.role, required=True, key=f"role-{who}",
                    disabled=not by_id[who].seen,
                    help=". ".join(f"{name.capitalize()}: {words}" for name, words in ROLE_WORDS.items()) + ".",
                )  # fmt: skip
                if st.button("Set the role", disabled=role == by_id[who].person.role):
                    people.set_role(space, who, role)
                    st.rerun()
            with st.container(horizontal=True, vertical_alignment="bottom"):
                heirs = [identifier for identifier in heirs_of_all if identifier != who]
                to = st.selectbox("Transfer everything to", heirs, format_func=label.__getitem__)
                if st.button("Hand over", disabled=not by_id[who].things, help="For somebody who leaves the team."):
                    handed = people.hand_over(space, who, to)
                    news.tell(f"{count(handed)} items now belong to {md(by_id[to].person.name)}.")
                    st.rerun()

with jobs_tab:
    listed = list(jobs.everyones(space))
    if not listed:
        st.caption("Nothing has been trained or exported yet.")
    going = [job for job in listed if job[4] in ("queued", "running")]
    for identifier, kind, owner, created, how in going:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(
                f"{jobs.NAMES[kind].capitalize()} of {md(label.get(owner, owner))}, since {date(created)}: {how}"
            )
            if st.button("Stop", key=f"stop-{identifier}", type="tertiary", icon=":material/cancel:"):
                jobs.cancel(space, kind, identifier)
                st.rerun()
    if listed:
        frame = pd.DataFrame(listed, columns=["Id", "Kind", "Owner", "Asked for", "State"])
        frame["Kind"] = frame["Kind"].map(jobs.NAMES)
        frame["Owner"] = frame["Owner"].map(lambda owner: label.get(owner, owner))
        frame["Asked for"] = frame["Asked for"].map(date)
        st.dataframe(frame, hide_index=True, alt="One row per job: kind, owner, time, state.")

with deleted_tab:
    gone = deletions(space)
    if not gone:
        st.caption("Nothing was deleted recently. Deleted items can be restored for a week.")
    undo.show(gone, label)

with log_tab:
    audit_log = people.log(space)
    frame = pd.DataFrame(
        [(entry.at, label.get(entry.person, entry.person), entry.action, entry.kind, entry.thing, entry.detail,
          entry.before, entry.after) for entry in audit_log],
        columns=["When", "Who", "Action", "Kind", "Item", "Detail", "Before", "After"],
    )  # fmt: skip
    st.dataframe(frame, hide_index=True, alt="One row per action, the latest first.")
    st.caption("The latest 500. The log is append-only; before and after are hashes of an item's description.")
